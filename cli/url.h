/* url.h - where the store's URL comes from, and what the command gets of it.
 *
 * The command never gets a password.  What it gets is HOLDFAST_STORE: the URL of the
 * store that its lock is in, for `check`; empty if there is a password in it, unset
 * if it is the default one.
 */
#ifndef URL_H
#define URL_H

/* The first line of a file; free it.  NULL after having complained: it cannot be
 * read, or has a password in it that others could read too. */
char *url_read_file(const char *path);

/* Set HOLDFAST_STORE for the command; `url` NULL: that of the environment.  Removes
 * HOLDFAST_URL if there is a password in it, HOLDFAST_ZK_AUTH and
 * HOLDFAST_REDIS_AUTH.  -1: no memory. */
int url_hand_down(const char *url);

/* What was handed down to us; NULL: nothing. */
const char *url_handed_down(void);

#endif
