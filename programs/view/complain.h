/* complain.h - exit codes, and messages on stderr.
 *
 * stdout belongs to the output that the user wants, in `run` to the command alone.  All
 * messages go to stderr, one line each, starting with "holdfast: ".
 */
#ifndef COMPLAIN_H
#define COMPLAIN_H

#include <holdfast.h>

/* 64 to 78 are those of sysexits.h, 79 is the first number above them.  CONTRIBUTING.md
 * says what else a new one needs. */
enum exit_code {
    EXIT_NOTHING = 1,      /* show, break, ask: nobody is there */
    EXIT_USAGE = 64,       /* the command line makes no sense */
    EXIT_UNAVAILABLE = 69, /* the store cannot be used */
    EXIT_INTERNAL = 70,    /* something failed that never should */
    EXIT_BUSY = 75,        /* not acquired */
    EXIT_FAULT = 78,       /* doctor: something is wrong with the store */
    EXIT_LOST = 79,        /* the lock was lost, the command was ended; check: it is lost,
                           fence: the token is stale */
    EXIT_OVERDUE = 124,    /* --max-run was over, as timeout(1) has it */
    EXIT_CANNOT_RUN = 126, /* as env(1) and the shells have it */
    EXIT_NOT_FOUND = 127,
};

/* One line on stderr, cleaned as by text_clean(): lock names, notes and commands are
 * other people's text.  Passwords in URLs are hidden. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Complain with errno's text behind it; returns EXIT_INTERNAL. */
int complain_errno(const char *what);

/* The exit code for a failure of the library. */
int exit_for(int error);

/* The last failure of this client, for a person; lent until the next call. */
const char *failure_text(struct hf_client *client, int error);

/* Complain about that; returns the exit code. */
int complain_failure(struct hf_client *client, int error);

#endif
