/* sqlite.h - the store in a file: "sqlite:PATH", no server, one machine.
 *
 * Rows in a database keep the lines; the kernel keeps the truth of who lives.
 * A ticket is alive as long as byte `seq` of PATH-live is locked by its
 * session's own open file description, so a stopped holder holds for ever, a
 * killed one is gone at once, and a release works even on a full disk.
 *
 *     PATH, -wal, -shm   the database
 *     PATH-live          bytes locked: the gate, and one for every ticket
 *     PATH-wake/         a FIFO for every session, by which it is woken
 */
#ifndef HF_SQLITE_H
#define HF_SQLITE_H

#include "store/store.h"

extern const struct hf_store_impl hf_sqlite_store;

#endif
