/* session.h - opens the store, and reports what the library says. */
#ifndef SESSION_H
#define SESSION_H

#include "options.h"
#include "requests.h"
#include "will.h"

#include <holdfast.h>

/* How long a question to the store may take: as long as one that is there needs to
 * answer, see "Time limits" in holdfast.h. */
#define SESSION_PATIENCE_MS 0

/* Open the store args name, to look at it.  0, or an exit code after having
 * complained. */
int session_open(const struct args *args, struct hf_client **ret);

/* The same, but the caller complains, by `error`. */
int session_try(const struct args *args, char *error, size_t size,
                struct hf_client **ret);

/* Load what the store needs that args name, before a second process is started: that one
 * must not depend on the disk when it executes the will.  If it fails, opening the store
 * tells why. */
void session_load(const struct args *args);

/* Of one who holds. */
struct session_holder {
    const char *to_owner; /* what is shown of its command to the owner of a store that
                                  nobody else can look at */
    const char *to_all;   /* the same where others can */
    struct requests *requests; /* what others want of it */
    struct will     *will;     /* for its guardian; NULL: it has none */
};

/* The same for a holder, which is lent until the client is closed. */
int session_open_to_hold(const struct args *args, const struct session_holder *holder,
                         struct hf_client **ret);

/* Until when a lock is surely held, CLOCK_BOOTTIME ns; INT64_MAX: as long as we live. */
int64_t session_deadline(const struct hf_lock *lock);

/* Is that another one, or only rounded differently? */
bool session_deadline_moved(int64_t from, int64_t to);

/* What failed last on this client, for a person; lent until the next call. */
const char *session_message(struct hf_client *client, int error);

/* Complain about what failed last on this client; returns the exit code. */
int session_failed(struct hf_client *client, int error);

/* Ask who holds and who waits, complaining if that fails. */
int session_inspect(struct hf_client *client, const char *name, struct hf_report **ret);

/* Open, inspect `name` (NULL: every lock), hand the report to use(), close.  Returns
 * what use() did, or an exit code after having complained. */
int session_look(const struct args *args, const char *name,
                 int (*use)(const struct args *args, struct hf_client *client,
                            const struct hf_report *report));

#endif
