/* monitor.h - keeps the locks of a store up to date for as long as a program shows them.
 *
 * The monitor drives a client without threads: poll monitor_fd() for input, for
 * monitor_timeout_ms() at most, then call monitor_process().  One store watch keeps the locks
 * current.  Their history comes from the store if it keeps one, else from comparing each lock
 * with its state before.
 */
#ifndef MONITOR_H
#define MONITOR_H

#include "locks.h"

struct monitor {
    struct hf_client      *client;
    struct hf_store_watch *watch; /* NULL: suspended */
    struct locks           locks;
    struct history         history;
    bool                   complete;    /* `locks` has every lock */
    bool                   exact;       /* the history is the store's own */
    uint64_t               last_number; /* of the store's history: the last entry read */
    uint64_t               initial;     /* entries from before the monitor started */
    uint64_t missed; /* entries that the store dropped before we read them */
    bool     reachable;
    char     why[256]; /* why it is not reachable */
    int64_t  as_of;    /* when `locks` was last current, us since 1970 */
    int64_t  lease_ms; /* the longest that was seen left; -1: none has a lease */
    int64_t  refreshed, history_asked_at, history_read_at; /* us since 1970 */
    int64_t  refresh_us;                                   /* how often leases are read */
    bool     skip_leases; /* set by the caller while nobody looks at leases */
    uint64_t updates;     /* see monitor_process() */
    bool     round_ended; /* the store watch finished a round */
    int      pause_ms;
    uint64_t resumed; /* version of `locks` at monitor_resume() */
    bool     resuming;
};

/* Open the store; `url` NULL: that of the environment.  0, or HF_E... with the reason in
 * `error`. */
int  monitor_open(struct monitor *monitor, const char *url, int pause_ms, char *error,
                  size_t size);
void monitor_close(struct monitor *monitor);

/* Until monitor_resume(), the locks stay as they are and the store is not asked for anything;
 * monitor_process() still keeps the session alive.  If resuming fails, the monitor stays
 * suspended. */
void monitor_suspend(struct monitor *monitor);
int  monitor_resume(struct monitor *monitor);

int monitor_fd(struct monitor *monitor);
int monitor_timeout_ms(struct monitor *monitor);

/* True if there is something new to show: a lock, a history entry or the link. */
bool monitor_process(struct monitor *monitor);

/* Read the store's history now, even if no lock has changed: a lock that came and went between
 * two rounds of the store watch is in the history all the same.  This costs a round trip, so
 * call it only when somebody wants to see it. */
void monitor_read_history(struct monitor *monitor);

/* How much is left now of the lease of the place at that index, in ms; as left_ms of struct
 * hf_entry. */
int64_t monitor_left_ms(const struct lock *lock, size_t place, int64_t now);

/* How many locks were lost or broken since `time`; -1: not known. */
int64_t monitor_lost_since(const struct monitor *monitor, int64_t time);

/* A percentile of all round trips so far, in microseconds; -1: none yet. */
int64_t monitor_round_trip_us(const struct monitor *monitor, unsigned percent);

#endif
