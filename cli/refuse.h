/* refuse.h - why a lock was not acquired: told to the user, and made an exit code. */
#ifndef REFUSE_H
#define REFUSE_H

#include "take.h"

/* Tell why the lock that `taking` describes is not ours; HF_E....  Returns the exit
 * code. */
int refuse(const struct taking *taking, int why);

/* The same with these words. */
int refuse_because(int why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
