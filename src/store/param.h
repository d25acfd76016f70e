/* param.h - URL parameters that several stores have. */
#ifndef HF_STORE_PARAM_H
#define HF_STORE_PARAM_H

#include "store/store.h"

/* Write a message about a part of the URL, in one line: `store URL: WHAT "VALUE";
 * ADVICE`.  Returns HF_EINVAL. */
int hf_param_complain(char *errmsg, const char *what, const char *value,
                      const char *advice);

/* The time of the parameter `key`, "30s" or "5000ms", from `least` to 3600 s.  Without
 * the parameter: the client's ttl_ms, but no less than `least`.  0 or HF_EINVAL. */
int hf_param_time(const struct hf_config *config, const char *key, hf_time least,
                  hf_time *ret, char *errmsg);

#define HF_HISTORY_MAX 100000

/* How many entries of history to keep, by the parameter `history`: 0 to 100000; -1
 * without it.  0 or HF_EINVAL. */
int hf_param_history(const struct hf_config *config, int *ret, char *errmsg);

/* The first line of a file that only its owner can read; `ret` has `size` bytes.  0 or
 * HF_EINVAL. */
int hf_param_read_auth(const char *file, char *ret, size_t size, char *errmsg);

/* The same for a new connection, since passwords are changed while programs run.  NULL:
 * there is no file.  False: go on with what was read before. */
bool hf_param_reread_auth(const char *file, char *ret, size_t size);

#endif
