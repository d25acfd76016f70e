/* next_number.h - folders in which billions of nodes seem to have been created.
 *
 * Creating them would take weeks.  So the server is killed, and its transaction log is
 * changed: the record of one node's creation also says how often the folder has changed.
 */
#ifndef HF_TEST_ZK_NEXT_NUMBER_H
#define HF_TEST_ZK_NEXT_NUMBER_H

#include <stdint.h>

/* Let the next node in "/name" get this number.  Creates the folder if it does not exist.
 */
void set_next_number(const char *folder, int64_t next);

#endif
