/* proc.h - whether /proc can be asked about a pid. */
#ifndef PROC_H
#define PROC_H

#include <stdbool.h>

/* Is /proc mounted, and that of our PID namespace?  In a sandbox it may be another one's:
 * there the same numbers are other processes. */
bool proc_is_ours(void);

#endif
