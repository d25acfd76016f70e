/* parse.h - the parts of the parser. */
#ifndef PARSE_H
#define PARSE_H

#include "cli_options.h"

/* All of these return 0, or an exit code after having complained. */

/* One option of the table; parse_value.c. */
int parse_option(struct args *args, int id, char *value);

/* All of them together, and the operands; parse_check.c. */
int parse_check(const struct args *args);

/* " (did you mean "run"?)" for an unknown verb, or option of a verb, or ""; hint.c.  The
 * text lives until the next call. */
const char *hint_verb(const char *word);
const char *hint_option(const struct verb *verb, const char *word);

/* Complain about `what`, and about `value` unless that is NULL; EXIT_USAGE. */
int parse_refuse(const struct verb *verb, const char *what, const char *value);

#endif
