/* inspect.h - what a client can see of a ZooKeeper store beyond its own places.
 *
 *   scan.c         reads all places of one line, or of all lines
 *   entries.c      what a scan found: sorted, matched, searched
 *   watch_store.c  WATCH_STORE: which lines have changed
 *   diagnose.c     DIAGNOSE; diagnose.h has its parts
 *   probe.c        a question to a server on a connection of its own
 */
#ifndef HF_ZK_INSPECT_H
#define HF_ZK_INSPECT_H

#include "store/zookeeper/line/line.h"

struct hf_place;
struct hf_req;

/* ---- scan.c ------------------------------------------------------------------------- */

/* One child of a folder with its data; owns its strings. */
struct hf_zk_entry {
    char              *line; /* the lock's name */
    char              *path;
    const char        *name; /* of the child: the end of its path */
    struct hf_zk_child child;
    uint64_t           seq, token;
    uint64_t           listed; /* zxid of the listing that shows it */
    int64_t            since;  /* us since 1970 */
    int                slot;
    const char        *companion;  /* the name of its slot-N or `claim`; NULL: none */
    bool               there;      /* it still existed when it was read, and is a place */
    bool               unreadable; /* we may not read it */
    bool               orphan;     /* a slot that no place has */
    char              *note;       /* the part of its data that is the note */
    char              *text;       /* all its data */
};

struct hf_zk_entries {
    struct hf_zk_entry *entry;
    size_t              count, room;
    uint64_t            stamp; /* of the last folder */
};

/* Read every place in the task's line, or in all lines, then go on.  The entries are sorted
 * by name and number. */
void hf_zk_scan(struct hf_zk *zk, struct hf_zk_task *task,
                void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                             const struct hf_zk_entries *entries));

/* ---- entries.c ---------------------------------------------------------------------- */

/* Add the node `folder`/`name`, or `folder` if there is no name.  `child` NULL: it is no
 * place.  False: no memory. */
bool hf_zk_entries_add(struct hf_zk_entries *entries, const char *line,
                       const char *folder, struct hf_zk_text name,
                       const struct hf_zk_child *child);
/* Drop the entries that are not there, sort the others, give places their slots, and make
 * their shapes agree.  A slot that no place has is an invalid place, behind all others. */
void hf_zk_entries_arrange(struct hf_zk_entries *entries);
/* Is it a slot that no place has?  It is in the way of all others until its owner, or a
 * BREAK, deletes it.  Before they are arranged. */
bool hf_zk_entries_is_orphan(const struct hf_zk_entries *entries,
                             const struct hf_zk_entry   *slot);
/* The places among them, to be freed; NULL: no memory.  Strings are lent. */
struct hf_place *hf_zk_entries_places(const struct hf_zk_entries *entries, size_t *count);
/* The place that a BREAK or ASK names; NULL: it is not there. */
const struct hf_zk_entry *hf_zk_entries_find(const struct hf_zk_entries *entries,
                                             const struct hf_req        *req);
void                      hf_zk_entries_finish(struct hf_zk_entries *entries);

/* ---- watch_store.c ------------------------------------------------------------------ */

/* watch_store.c has the table. */
enum hf_zk_watch_store_state {
    HF_ZK_WATCH_STORE_OFF,
    HF_ZK_WATCH_STORE_ADDING,
    HF_ZK_WATCH_STORE_ON,
    HF_ZK_WATCH_STORE_POLLING,
    HF_ZK_WATCH_STORE_REMOVING,
};

struct hf_zk_store_watch {
    enum hf_zk_watch_store_state state;
    struct hf_zk_task           *task; /* the WATCH_STORE at work; NULL: none */
    struct hf_zk_call            call;
    size_t                       changed, unreadable; /* lines with that flag */
    unsigned losses; /* connections in a row that broke while the watch was being added */
    hf_time reported; /* when the last WATCH_STORE ended; 0: the next one starts afresh */
    hf_time reported_all; /* when one last reported all lines; 0: the next one will */
};

/* A WATCH_STORE begins; is canceled; is canceled before it began; ends. */
void hf_zk_watch_store(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_watch_store_cancel(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_watch_store_cancel_early(struct hf_zk *zk);
void hf_zk_watch_store_end(struct hf_zk *zk, const struct hf_zk_task *task);

/* The server reports an event on this path. */
void hf_zk_watch_store_event(struct hf_zk *zk, struct hf_zk_text path);

/* A scan was, or was not, allowed to list a lock's folder. */
void hf_zk_watch_store_listed(struct hf_zk *zk, const char *name, bool denied);
/* A scan found these places in one line, or in all (NULL). */
void hf_zk_watch_store_found(struct hf_zk *zk, const char *name,
                             const struct hf_zk_entries *entries);

/* Answer the WATCH_STORE at work, if it is time. */
void    hf_zk_watch_store_run(struct hf_zk *zk);
hf_time hf_zk_watch_store_wake(const struct hf_zk *zk);

/* The connection broke; the session is gone. */
void hf_zk_watch_store_disconnected(struct hf_zk *zk);
void hf_zk_watch_store_drop(struct hf_zk *zk);

/* ---- probe.c ------------------------------------------------------------------------ */

struct hf_zk_probe;

/* Continue the probes in flight. */
void    hf_zk_probes_run(struct hf_zk *zk, bool readable);
hf_time hf_zk_probes_wake(const struct hf_zk *zk);

#endif
