/* fault.c - what the errors of a server mean, and how we report them.
 *
 * We tell errors apart by number, and our own by SQLSTATE, since the server's texts may be
 * in any language. */
#include "store/mariadb/inner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct meaning {
    unsigned             error; /* 0: an SQLSTATE */
    const char          *state;
    enum hf_served_fault fault;
    const char *text; /* to follow the server's name; an end of ": ": add its message */
};

#define NO_RIGHTS                                                               \
    "has no tables of Holdfast for us: let an administrator run the output of " \
    "`holdfast init --print --grant USER --url mariadb:`: "

static const struct meaning meanings[] = {
    { 1213, NULL, HF_SERVED_AGAIN, "had to undo it: a deadlock" },
    { 1205, NULL, HF_SERVED_AGAIN, "had to undo it: a lock took too long" },
    { 1020, NULL, HF_SERVED_AGAIN,
      "had to undo it: a conflict with another transaction" },
    { 1317, NULL, HF_SERVED_DOWN, "stopped our query: an administrator's KILL QUERY?" },
    /* a SELECT ... INTO that was killed may count as one without a row */
    { 1329, NULL, HF_SERVED_DOWN, "stopped our query: an administrator's KILL QUERY?" },
    { 1969, NULL, HF_SERVED_DOWN, "stopped our query (max_statement_time)" },
    { 1927, NULL, HF_SERVED_DOWN, "ended our connection: an administrator's KILL?" },
    { 1053, NULL, HF_SERVED_DOWN, "is shutting down" },
    { 1040, NULL, HF_SERVED_DOWN, "has no connection left for us (max_connections)" },
    { 1203, NULL, HF_SERVED_DOWN,
      "has no connection left for us (max_user_connections)" },
    { 1226, NULL, HF_SERVED_DOWN, "has no connection left for this account: " },
    { 1290, NULL, HF_SERVED_DOWN, "is read-only: a replica?" },
    { 1836, NULL, HF_SERVED_DOWN, "is read-only: a replica?" },
    { 0, "HF005", HF_SERVED_DOWN, "is read-only: a replica?" },
    { 0, "HF004", HF_SERVED_OTHER, "has tables of another version of Holdfast: " },
    { 0, "HF006", HF_SERVED_OTHER,
      "is part of a Galera cluster (wsrep_on): two of its servers may commit changes that "
      "contradict each other, so a lock there would not exclude anybody" },
    { 0, "HF007", HF_SERVED_FAILED, "says: " },
    { 1305, NULL, HF_SERVED_MISSING, "has no functions of Holdfast in this database" },
    { 1049, NULL, HF_SERVED_MISSING, "has no such database" },
    { 1146, NULL, HF_SERVED_MISSING, "lacks a table of Holdfast in this database" },
    { 1370, NULL, HF_SERVED_DENIED, NO_RIGHTS },
    { 1044, NULL, HF_SERVED_DENIED, NO_RIGHTS },
    { 1142, NULL, HF_SERVED_DENIED, NO_RIGHTS },
    { 1227, NULL, HF_SERVED_DENIED, NO_RIGHTS },
    { 1419, NULL, HF_SERVED_DENIED,
      "has a binary log, so functions are made by accounts with the right SUPER alone: let "
      "an administrator run the output of `holdfast init --print --url mariadb:`" },
    { 1449, NULL, HF_SERVED_DENIED,
      "has functions of Holdfast whose account is gone: let an administrator run the "
      "output of `holdfast init --print --url mariadb:`" },
    { 1045, NULL, HF_SERVED_DENIED, "says that the password or the user is wrong" },
    { 1698, NULL, HF_SERVED_DENIED, "says that the password or the user is wrong" },
    { 1665, NULL, HF_SERVED_FAILED,
      "has binlog_format=STATEMENT, with which nothing can be written at READ COMMITTED: "
      "set it to MIXED or ROW" },
    { 0, "HF008", HF_SERVED_DOWN,
      "has a transaction in progress on our connection, or autocommit = 0" },
    { 0, "HF009", HF_SERVED_DOWN,
      "has undone our call, because a change was lost: an administrator's KILL QUERY?" },
    { 1021, NULL, HF_SERVED_FAILED, "has no space left on its disk" },
    { 1114, NULL, HF_SERVED_FAILED, "has no space left on its disk" },
    { 1037, NULL, HF_SERVED_FAILED, "has no memory left" },
    { 1041, NULL, HF_SERVED_FAILED, "has no memory left" },
};

static const struct meaning *find_meaning(unsigned error, const char *state)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].error != 0 ? meanings[i].error == error
                                   : strcmp(meanings[i].state, state) == 0)
            return &meanings[i];
    return NULL;
}

/* One function is closed to us, as hf_break_place() may be.  Before hello has succeeded the
 * same error is about all of them. */
static const struct meaning closed = { 1370, NULL, HF_SERVED_DENIED,
                                       "does not allow it: " };

/* The first line of a text, without control characters. */
static void copy_line(const char *text, char *ret, size_t size)
{
    size_t used = 0;

    assert(size > 0);
    for (; *text != '\0' && *text != '\n' && *text != '\r' && used + 1 < size; text++)
        ret[used++] = (unsigned char)*text < 0x20 ? ' ' : *text;
    ret[used] = '\0';
}

static enum hf_served_fault explain(const struct meaning *meaning, unsigned error,
                                    const char *message, char *ret, size_t size)
{
    char line[160];

    copy_line(message, line, sizeof line);
    if (meaning == NULL) {
        snprintf(ret, size, "says: %s (error %u)", line, error);
        return HF_SERVED_FAILED;
    }
    bool more = meaning->text[strlen(meaning->text) - 1] == ' ';
    snprintf(ret, size, "%s%s", meaning->text, more ? line : "");
    return meaning->fault;
}

enum hf_served_fault hf_maria_fault_text(unsigned error, const char *state,
                                         const char *message, char *ret, size_t size)
{
    return explain(find_meaning(error, state), error, message, ret, size);
}

enum hf_served_fault hf_maria_fault(struct hf_maria          *maria,
                                    const struct hf_my_reply *reply)
{
    char text[HF_ERRMSG_MAX];

    if (reply == NULL)
        return HF_SERVED_DOWN;
    if (reply->error == 0)
        return HF_SERVED_FINE;
    const struct meaning *meaning = find_meaning(reply->error, reply->state);
    if (reply->error == closed.error && maria->main.dial.phase == HF_DIAL_READY)
        meaning = &closed;
    enum hf_served_fault fault =
        explain(meaning, reply->error, reply->message, text, sizeof text);
    hf_dial_say(&maria->main.dial, text);
    return fault;
}
