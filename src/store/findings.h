/* findings.h - a list of findings, with copies of their texts. */
#ifndef HF_STORE_FINDINGS_H
#define HF_STORE_FINDINGS_H

#include "base/clock.h"
#include "holdfast.h"

/* Zero it to begin with. */
struct hf_finding_list {
    struct hf_finding *finding;
    size_t             count, room;
    bool               failed; /* one is missing: no memory */
};

/* Add one.  `advice`: what to do about it; NULL or "": nothing. */
__attribute__((format(printf, 5, 6))) void hf_finding_add(struct hf_finding_list *list,
                                                          enum hf_level           level,
                                                          const char             *about,
                                                          const char             *advice,
                                                          const char *format, ...);

/* Add copies of these. */
void hf_finding_add_all(struct hf_finding_list *list, const struct hf_finding *finding,
                        size_t count);

/* For "%g s". */
static inline double hf_seconds(hf_time time)
{
    return (double)time / (double)HF_SEC;
}

/* Remove and free all. */
void hf_finding_list_clear(struct hf_finding_list *list);

#endif
