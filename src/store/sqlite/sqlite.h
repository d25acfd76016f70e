/* sqlite.h - the store in a file: "sqlite:PATH", no server, one machine.
 *
 * Rows in a database keep the lines; the kernel knows which places are alive.  A place is
 * alive as long as byte `seq` of PATH-live is locked by its session's own open file
 * description.  So a stopped holder keeps its lock for ever, a killed one loses it at
 * once, and a release works even on a full disk.
 *
 *     PATH, -wal, -shm   the database
 *     PATH-live          the write lock, and a liveness lock for every place
 *     PATH-wake/         a FIFO for every session, which wakes it
 */
#ifndef HF_SQLITE_H
#define HF_SQLITE_H

#include "store/store.h"

extern const struct hf_store_impl hf_sqlite_store;

#endif
