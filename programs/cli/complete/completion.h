/* completion.h - scripts for shells that complete a word when TAB is pressed.
 *
 * They are made from the tables of cli_options.c, and ask `holdfast completion names` for
 * the locks in use.  A name is other people's text: no script may let its shell expand
 * one, and what it puts on the command line must mean that name and nothing else.
 */
#ifndef COMPLETION_H
#define COMPLETION_H

#include "cli_options.h"

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);

bool completion_has(const struct verb *verb, const struct option_row *row);
bool completion_takes_file(const struct option_row *row);
bool completion_begins_with_file(const struct verb *verb);
bool completion_begins_with_verb(const struct verb *verb);

/* The words that an option's value may be, or NULL. */
const char *completion_words(const struct option_row *row);

/* The options of a verb (NULL: of all) as words; all, or only those that take a value. */
void completion_print_options(const struct verb *verb, bool valued);

/* All verbs, with blanks between. */
void completion_print_verbs(void);

/* The text for a name on bash's command line.  The word there is `head`, which stays, and
 * the text behind it, which is replaced; quotes may be open at the end of `head`.  NULL:
 * the name does not begin with that word.  Free it. */
char *completion_quote(const char *name, const char *head, const char *text);

#endif
