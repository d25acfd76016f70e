/* nested.h - a run inside a run must not wait for itself.
 *
 * The runs around us hold their locks until we are gone.  So we would wait for ever if
 *
 *     we do not fit in beside them, or
 *     somebody waits ahead of us who does not: first come, first served.
 *
 * The line itself tells which of its places are around us (held.h).  So we do the right
 * thing however the store is named, and if a place was lost meanwhile.  Nobody joins ahead
 * of a place once it is taken: one look at the line with our own place in it is enough.
 */
#ifndef NESTED_H
#define NESTED_H

#include <holdfast.h>

enum nested {
    NESTED_FINE,   /* it will be granted, or is no concern of those around us */
    NESTED_UNSURE, /* our place is not in the report yet: look again */
    NESTED_STUCK,  /* we do not fit in beside what is held around us */
    NESTED_BEHIND, /* somebody who waits ahead of us does not */
};

/* What will become of a wish for `weight` of `capacity` of a name, by a report on it. */
enum nested nested_judge(const struct hf_report *report, const char *name,
                         uint32_t weight, uint32_t capacity);

#endif
