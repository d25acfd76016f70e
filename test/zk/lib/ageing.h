/* ageing.h - folders in which thousands of millions of nodes have been made.
 *
 * To make them would take weeks.  So the server is killed, and what its log of
 * transactions says about one node's making is changed: not how often the folder has
 * changed, but how often it will have, had somebody been busy there.
 */
#ifndef HF_TEST_ZK_AGEING_H
#define HF_TEST_ZK_AGEING_H

#include <stdint.h>

/* The next node in "/name" is to have this number.  The folder is made if it is not
 * there. */
void age_folder(const char *folder, int64_t next);

#endif
