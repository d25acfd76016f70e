/* session.h - opens the store for a verb. */
#ifndef SESSION_H
#define SESSION_H

#include "cli_options.h"
#include "guard/guard_key.h"
#include "run/messages.h"

#include <holdfast.h>

/* How long a question to the store may take: as long as a reachable store needs to
 * answer, see "Time limits" in holdfast.h. */
#define SESSION_PATIENCE_MS 0

/* Open the store that args name.  0, or an exit code after having complained. */
int session_open(const struct args *args, struct hf_client **ret);

/* The same, but the caller complains, by `error`. */
int session_try(const struct args *args, char *error, size_t size,
                struct hf_client **ret);

/* Is there no URL, because the `holdfast run` around us keeps its own to itself?  Says
 * what to do, or NULL.  The second one complains. */
const char *session_withheld(const struct args *args);
bool        session_refuse_withheld(const struct args *args);

/* Load the libraries of the store that args name, before a guardian is forked: that must
 * not depend on the disk when it ends the session.  If it fails, opening the store tells
 * why. */
void session_load(const struct args *args);

/* For a verb that holds a lock. */
struct session_holder {
    const char      *to_owner; /* its command, as shown in a store that only its owner can
                                  look at */
    const char      *to_all;   /* its command, as shown where others can look */
    struct requests *requests; /* from others who ask for the lock */
    struct guard_key *key;     /* for its guardian; NULL: it has none */
};

/* As session_open(); `holder` is lent until the client is closed. */
int session_open_to_hold(const struct args *args, const struct session_holder *holder,
                         struct hf_client **ret);

/* Until when a lock is surely held, CLOCK_BOOTTIME ns; INT64_MAX: as long as we live. */
int64_t session_deadline(const struct hf_lock *lock);

/* Is that another one, or only rounded differently? */
bool session_deadline_moved(int64_t from, int64_t to);

/* The queue of a lock: 0, or an exit code after having complained. */
int session_inspect(struct hf_client *client, const char *name, struct hf_report **ret);

/* Open, inspect `name` (NULL: every lock), hand the report to use(), close.  Returns
 * what use() did, or an exit code after having complained. */
int session_look(const struct args *args, const char *name,
                 int (*use)(const struct args *args, struct hf_client *client,
                            const struct hf_report *report));

#endif
