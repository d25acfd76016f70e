/* redact.h - hides secrets in command lines and URLs.
 *
 * Command lines contain passwords, and no list of patterns finds them all.  So it depends
 * on who can look at the store.  If only its owner can, all is shown, as ps(1) does,
 * except for the passwords in URLs, which may be those of stores.  If others can, only
 * the program's name is shown.  --show-command shows more; then these are hidden: the
 * value of anything called password, passwd, secret, token, apikey or credential
 * ("--db-password=x", "PGPASSWORD=x", "--token x"), also inside an `sh -c` string, and
 * the password in a URL.
 */
#ifndef REDACT_H
#define REDACT_H

#include <stdbool.h>
#include <stddef.h>

/* A command as one line, cut to `size`: with all that looks like a secret hidden, or
 * only the passwords in URLs. */
void redact_command(char *out, size_t size, char *const *argv);
void redact_urls(char *out, size_t size, char *const *argv);

/* The name of the program, without its folder. */
const char *redact_program(char *const *argv);

/* Does the URL of a store have a password in it, or what may be one? */
bool redact_url_has(const char *url);

/* Overwrite all that may be a password in it. */
void redact_url_wipe(char *url);

/* The same for all well-formed URLs in a text. */
void redact_text(char *text);

#endif
