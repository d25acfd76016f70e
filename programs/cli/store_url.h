/* store_url.h - where the store's URL comes from, and what is passed on to the command.
 *
 * The command gets HOLDFAST_URL, so that a `holdfast` inside of it uses the same store,
 * and HOLDFAST_STORE, the store that its lock is in, for `check`.  A URL with a password
 * is not passed on: then HOLDFAST_STORE is empty.  For the default store neither is set.
 */
#ifndef URL_H
#define URL_H

#include <stdbool.h>
#include <stdint.h>

/* Take passwords out of the environment that /proc/PID/environ shows, ours and that of
 * the guardian; getenv() still finds them.  Before anything else. */
void url_hide_secrets(void);

/* The first line of a file; free it.  NULL after having complained: it cannot be
 * read, or has a password in it that others could read too. */
char *url_read_file(const char *path);

/* Set the environment of the command; `url` NULL: that of our environment.  Removes
 * HOLDFAST_ZK_AUTH, HOLDFAST_REDIS_AUTH and HOLDFAST_MARIADB_AUTH, too.  -1: no memory. */
int url_hand_down(const char *url);

/* The same URL, with the parameter that has the store keep `keep` entries of its history;
 * free it.  `url` NULL: that of our environment, or the default.  NULL: no memory. */
char *url_with_history(const char *url, int64_t keep);

/* HOLDFAST_STORE, which the run around us has set; NULL: none has. */
const char *url_handed_down(void);

/* Does it name the memory of this process?  `url` NULL: that of our environment. */
bool url_is_memory(const char *url);

/* Did the run around us not pass its URL on, because of a password, and is there no
 * other? */
bool url_is_withheld(void);

#endif
