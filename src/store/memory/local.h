/* local.h - the wire between stores and worlds of one process. */
#ifndef HF_MEMORY_LOCAL_H
#define HF_MEMORY_LOCAL_H

#include "store/memory/memory.h"

/* A wire to the world of that name, made if there is none.  The world goes when
 * its last wire is closed. */
int hf_local_open(const char *name, struct hf_wire **ret);

#endif
