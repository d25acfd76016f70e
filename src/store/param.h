/* param.h - what stores make of their URLs alike. */
#ifndef HF_STORE_PARAM_H
#define HF_STORE_PARAM_H

#include "store/store.h"

/* Say what is wrong with a part of the URL, in one line, and what to write instead:
 * `store URL: WHAT "VALUE"; ADVICE`.  HF_EINVAL. */
int hf_param_complain(char *errmsg, const char *what, const char *value,
                      const char *advice);

/* The time of parameter `key`, "30s" or "5000ms", and if there is none the client's, made
 * to be `least` at least.  From `least` to 3600 s.  0 or HF_EINVAL. */
int hf_param_time(const struct hf_config *config, const char *key, hf_time least,
                  hf_time *ret, char *errmsg);

#define HF_HISTORY_MAX 100000

/* How many records of history are to be kept, by parameter `history`: 0 to 100000; -1 if there
 * is none.  0 or HF_EINVAL. */
int hf_param_history(const struct hf_config *config, int *ret, char *errmsg);

/* The first line of a file that only its owner can read; `ret` has `size` bytes.  0 or
 * HF_EINVAL. */
int hf_param_read_auth(const char *file, char *ret, size_t size, char *errmsg);

#endif
