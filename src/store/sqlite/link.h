/* link.h - opening the files, the session, and losing both; ending somebody else's
 * session. */
#ifndef HF_SQLITE_LINK_H
#define HF_SQLITE_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct hf_config;
struct hf_sq;
struct hf_store;

/* ---- link.c ------------------------------------------------------------------ */

/* Open the files unless they are open.  Without `make`: HF_ENOTFOUND if there are
 * none. */
int  hf_sq_connect(struct hf_sq *sq, bool make);
void hf_sq_disconnect(struct hf_sq *sq);

/* Start a session unless there is one. */
int hf_sq_session(struct hf_sq *sq);

/* Do the paths still lead to the files that we have open?  Reads the header. */
bool hf_sq_is_current(struct hf_sq *sq);

/* Was our session ended by its session key?  Also sets sq->ended. */
bool hf_sq_is_ended(struct hf_sq *sq);

/* The files are not current, or our session was ended: close everything.  True if
 * places or watches were lost with it; then the link was reported LOST, too. */
bool hf_sq_lose_session(struct hf_sq *sq);

uint64_t hf_sq_hash(const char *text);

/* ---- session_key.c ----------------------------------------------------------- */

/* See struct hf_store_impl; read() checks config->key. */
int hf_sq_session_key(struct hf_store *store, void *ret);
int hf_sq_session_key_read(struct hf_sq *sq, const struct hf_config *config);

/* Try to end the session sq->to_end. */
void hf_sq_end_session(struct hf_sq *sq);

#endif
