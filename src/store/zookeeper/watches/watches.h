/* watches.h - watched paths of the ZooKeeper store, and their listeners.
 *
 *   watched.c      one watched path, and how its listeners are notified
 *   set_watches.c  sets all watches of one turn by one call, also on a new connection
 *   own_node.c     listens to the nodes of our own places
 *   compare.c      checks that the server shows no watched node that the others do not have
 */
#ifndef HF_ZK_WATCHES_H
#define HF_ZK_WATCHES_H

#include "store/zookeeper/wire/call.h"

struct hf_zk_own;

#define HF_ZK_BUCKETS 4096 /* of our hash tables */

/* Which bucket a text belongs to. */
size_t hf_zk_hash(const char *text, size_t size);

/* ---- watched.c ---------------------------------------------------------------------- */

enum hf_zk_watched_kind {
    HF_ZK_WATCHED_DATA,     /* a node that exists: until it is changed or deleted */
    HF_ZK_WATCHED_CHILDREN, /* a folder; one that does not exist: until it is created */
};

enum hf_zk_news {
    HF_ZK_NEWS_SET,        /* the watch is set: nothing is missed from now on */
    HF_ZK_NEWS_READ,       /* zk->seen has what was read; the watch stays */
    HF_ZK_NEWS_CHANGED,    /* the watch has fired: listen again */
    HF_ZK_NEWS_GONE,       /* deleted, or was not there; the watch has ended */
    HF_ZK_NEWS_UNREADABLE, /* we may not read it, so there will be no news; ended */
};

struct hf_zk_watched;

struct hf_zk_listener {
    void (*on_news)(struct hf_zk *zk, struct hf_zk_listener *listener,
                    enum hf_zk_news news);
    void                  *data;
    struct hf_zk_watched  *watched; /* NULL: does not listen */
    struct hf_zk_listener *next;
};

#define HF_ZK_RETRY (200 * HF_MS) /* when a watch could not be set */

struct hf_zk_watched_paths {
    struct hf_zk_watched *bucket[HF_ZK_BUCKETS];
    size_t                count;
    struct hf_zk_watched *queued; /* watches to be set */
    hf_time               retry;  /* not before then */
};

/* Details of a notification; lent for the time of on_news. */
struct hf_zk_seen {
    const char       *path; /* not with SET, READ */
    bool              gap;  /* SET: a change since `as_of` may have been missed */
    struct hf_zk_stat stat; /* READ; so is `text` */
    struct hf_zk_text text;
};

#define HF_ZK_ITS_END INT64_MAX

/* Listen to a node that existed once.  If it was deleted meanwhile, that is news; so is a
 * change since the zxid `as_of`, unless zk->seen.gap says that it may have been missed.
 * HF_ZK_ITS_END: only its deletion matters.  0 or HF_ENOMEM. */
int hf_zk_listen(struct hf_zk *zk, struct hf_zk_listener *listener, const char *path,
                 int64_t as_of);

#define HF_ZK_STAMP_NONE 1 /* of a folder that does not exist */

/* Listen to a folder that had this stamp, its pzxid; 0: from its present state on.  0,
 * HF_ENOMEM, or 1: we know already that it has changed since, and do not listen. */
int hf_zk_listen_folder(struct hf_zk *zk, struct hf_zk_listener *listener,
                        const char *path, uint64_t stamp);

/* Stop listening; does nothing if it does not listen.  `node_deleted`: we are about to
 * delete the node, so the server will drop the watch by itself. */
void hf_zk_unlisten(struct hf_zk *zk, struct hf_zk_listener *listener, bool node_deleted);

/* The path that it listens to. */
const char *hf_zk_listener_path(const struct hf_zk_listener *listener);
/* Is its watch set?  Then a change would have been heard. */
bool hf_zk_is_watch_set(const struct hf_zk_listener *listener);

/* Read the node, if its watch is set: READ, GONE or UNREADABLE follows. */
void hf_zk_read_watched(struct hf_zk *zk, const struct hf_zk_listener *listener);
/* Has it been read? */
bool hf_zk_is_readable(const struct hf_zk_listener *listener);

void hf_zk_watched_event(struct hf_zk *zk, int32_t type, struct hf_zk_text path);
void hf_zk_watched_flush(struct hf_zk *zk);   /* set the queued watches */
void hf_zk_watched_restore(struct hf_zk *zk); /* on a new connection */
void hf_zk_watched_drop(struct hf_zk *zk);    /* the session is gone */

/* ---- own_node.c --------------------------------------------------------------------- */

/* Listen to the node of a place; start to a little later, if a holder needs to. */
void hf_zk_own_node_listen(struct hf_zk *zk, struct hf_zk_own *own);
void hf_zk_own_node_listen_later(struct hf_zk *zk, struct hf_zk_own *own);
/* Do we know that it exists, and would we hear of its end? */
bool hf_zk_own_node_is_there(const struct hf_zk *zk, const struct hf_zk_own *own);
void hf_zk_own_node_run(struct hf_zk *zk);

/* ---- compare.c ---------------------------------------------------------------------- */

#define HF_ZK_COMPARED 64 /* nodes by one call */

struct hf_zk_compare {
    hf_time           due;
    struct hf_zk_call call;
    int64_t           zxid;  /* of the check */
    size_t            after; /* the last bucket that was compared: continue there */
    char             *path[HF_ZK_COMPARED];
    size_t            count; /* 0: no comparison is under way */
};

void    hf_zk_compare_run(struct hf_zk *zk);
hf_time hf_zk_compare_wake(const struct hf_zk *zk);

#endif
