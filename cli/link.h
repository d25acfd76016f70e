/* link.h - the guardians' end of the link to holdfast. */
#ifndef LINK_H
#define LINK_H

#include "guard.h"

void link_tell(int link, enum guard_news_kind kind, int value);

/* Tell who is below us, if anybody is. */
void link_tell_who(int link, enum guard_news_kind kind);

#endif
