/* store_files.h - what tests do to PATH-live and PATH-wake behind the back of the store. */
#ifndef HF_TEST_SQLITE_STORE_FILES_H
#define HF_TEST_SQLITE_STORE_FILES_H

#include "lib/temp_store.h"
#include "store/sqlite/files/live.h"

/* Take the write lock, or the liveness lock of a place.  Close the descriptor to release it. */
int take_write_lock(const struct temp_store *temp);
int take_liveness_lock(const struct temp_store *temp, uint64_t seq);

struct hf_sq_header read_header(const struct temp_store *temp);
void write_header(const struct temp_store *temp, const struct hf_sq_header *header);

/* The name of the only FIFO that exists. */
void find_fifo(const struct temp_store *temp, char ret[32]);

#endif
