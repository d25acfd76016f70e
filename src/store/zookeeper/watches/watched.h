/* watched.h - one watched path, for the files of this room.
 *
 * A server's watch fires once, on the connection that set it.  We keep one for each path
 * and kind, however many listeners it has.  All are set by SET_WATCHES (set_watches.c),
 * which does not care whether a watch is new or is restored on a new connection.
 *
 *     from     to       when
 *     QUEUED   SENT     SET_WATCHES is sent
 *     SENT     QUEUED   the connection broke, or the server refused
 *              SET      it was answered
 *              FIRED    it was answered, and an event came before the answer (`early`)
 *     SET      QUEUED   there is a new connection, or a listener asks for earlier changes
 *              FIRED    an event came; or a read found the node gone or unreadable
 *     FIRED             the listeners are notified, and it is freed
 *
 * Besides, the fields that change with it:
 *
 *     field         set                                   in state       until
 *     early         an event comes before the answer      SENT           it is sent again
 *     reading       a read is sent                        begins in SET  that is answered
 *     readable      a read succeeded                      any            it is freed
 *     notifying     its listeners are being notified      SET, QUEUED    all have been
 *     to_notify     those that have not been notified     notifying      all have been
 *     node_deleted  its last listener stopped, and said   no listeners   a listener joins
 *                   that we delete the node
 *
 * While `notifying`, any listener may join or stop, so the path is not freed before the
 * end. Without listeners it is freed at once if it is SET, else when it is sent or
 * answered.
 *
 * A server sends no events about a node that we may not read, not even that it was
 * deleted (since CVE-2024-23944), and SET_WATCHES does not say so.  A waiter that depends
 * on a node for longer therefore reads it (hf_zk_read_watched).
 */
#ifndef HF_ZK_WATCHED_H
#define HF_ZK_WATCHED_H

#include "store/zookeeper/inner.h"

enum hf_zk_watched_state {
    HF_ZK_WATCH_QUEUED,
    HF_ZK_WATCH_SENT,
    HF_ZK_WATCH_SET,
    HF_ZK_WATCH_FIRED,
};

struct hf_zk_watched {
    struct hf_zk_watched    *next; /* in its bucket */
    enum hf_zk_watched_kind  kind;
    enum hf_zk_watched_state state;
    int64_t                  as_of; /* QUEUED, SENT: report changes since then */
    uint64_t                 stamp; /* of a folder, as its listeners know it */
    enum hf_zk_news          early;
    bool                     reading, readable, notifying, node_deleted;
    struct hf_zk_listener   *listeners;
    struct hf_zk_listener   *to_notify;
    struct hf_zk_watched    *next_queued; /* QUEUED */
    struct hf_zk_call        call;        /* REMOVE_WATCHES */
    char                     path[];
};

struct hf_zk_watched *hf_zk_watched_find(struct hf_zk *zk, enum hf_zk_watched_kind kind,
                                         const char *path, size_t size);
void hf_zk_watched_become(struct hf_zk_watched *watched, enum hf_zk_watched_state state);
/* A folder that does not exist: the server watches for its creation. */
bool hf_zk_watched_is_absent(const struct hf_zk_watched *watched);
/* It has no listeners: free it, and have the server remove the watch. */
void hf_zk_watched_remove(struct hf_zk *zk, struct hf_zk_watched *watched);
/* Queue it, to be set with the others. */
void hf_zk_watched_queue(struct hf_zk *zk, struct hf_zk_watched *watched);
/* The call that sets it was answered, with ZooKeeper's error. */
void hf_zk_watched_settle(struct hf_zk *zk, struct hf_zk_watched *watched, int error,
                          int64_t as_of);

#endif
