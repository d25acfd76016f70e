/* link.h - the guardians' end of the link to holdfast. */
#ifndef LINK_H
#define LINK_H

#include "guard.h"
#include "will.h"

void link_tell(int link, enum guard_news_kind kind, int value);

/* Tell who is below us, if anybody is. */
void link_tell_who(int link, enum guard_news_kind kind);

enum link_heard {
    LINK_SILENT, /* nothing now */
    LINK_ORDER,
    LINK_ENDED, /* holdfast is dead */
};

/* The next order; `wait` for it.  The descriptors that come with GO are kept simply by not
 * closing them, a will is put where it is to be kept. */
enum link_heard link_hear(int link, bool wait, struct guard_order *ret,
                          struct will_kept *will);

/* Is holdfast dead?  It may have left orders. */
bool link_has_ended(int link);

#endif
