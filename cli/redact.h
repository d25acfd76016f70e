/* redact.h - what others may see of a command line.
 *
 * Holders show their command to everybody who can read the store, and command
 * lines carry passwords.  Hidden: the value of anything called password,
 * passwd, secret, token, apikey or credential ("--db-password=x",
 * "PGPASSWORD=x", "--token x"), also inside an `sh -c` string, and the password
 * in a URL.
 */
#ifndef REDACT_H
#define REDACT_H

#include <stdbool.h>
#include <stddef.h>

/* A command as one line of at most `columns` columns. */
void redact_command(char *out, size_t size, char *const *argv, size_t columns);

/* Where the password in a URL starts, and how long it is; NULL: there is none. */
const char *redact_url_password(const char *url, size_t *length);

#endif
