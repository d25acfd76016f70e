/* watched.h - one watched path, between watched.c, listen.c, together.c and restore.c. */
#ifndef HF_ZK_WATCHED_H
#define HF_ZK_WATCHED_H

#include "store/zookeeper/inner.h"

#define HF_ZK_SET_WATCHES_MAX ((size_t)128 * 1024) /* bytes; servers refuse 1 MB */

/* watched.c draws them. */
enum hf_zk_watched_state { WANTED, QUEUED, ARMING, ARMED, FIRING };

struct hf_zk_watched {
    struct hf_zk_watched    *next; /* in its bucket */
    enum hf_zk_watched_kind  kind;
    enum hf_zk_watched_state state;
    bool                     bare;    /* by `exists`: a folder that is not there */
    bool                     batched; /* ARMING: with others, without being read */
    enum hf_zk_news          heard;   /* ... and what came in front of the answer */
    bool                     unread;  /* ... and it is to be read then */
    bool                     blind;   /* it was not read: is it hidden? */
    struct hf_zk_watched    *next_queued;
    bool                     goes;    /* nobody listens, and it will end by itself */
    uint64_t                 stamp;   /* of a folder, as it has been since it was armed */
    bool                     telling; /* that it is armed */
    struct hf_zk_listener   *listeners;
    struct hf_zk_listener   *untold; /* of those, while telling */
    struct hf_zk_call        call;
    char                     path[];
};

struct hf_zk_watched *hf_zk_watched_find(struct hf_zk *zk, enum hf_zk_watched_kind kind,
                                         const char *path, size_t size);
/* NULL: no memory. */
struct hf_zk_watched *hf_zk_watched_new(struct hf_zk *zk, enum hf_zk_watched_kind kind,
                                        const char *path);
void hf_zk_watched_set(struct hf_zk_watched *watched, enum hf_zk_watched_state state);
/* Nobody listens: forget it, and have the server forget it. */
void hf_zk_watched_remove(struct hf_zk *zk, struct hf_zk_watched *watched);

/* Have the server watch it; answered by ARMED, or otherwise. */
void hf_zk_watched_arm(struct hf_zk *zk, struct hf_zk_watched *watched);
/* The call by which it was armed with others was answered, with ZooKeeper's error. */
void hf_zk_watched_settle(struct hf_zk *zk, struct hf_zk_watched *watched, int error,
                          int64_t as_of);

/* listen.c: have it listen to a path.  `fresh`: that is to be armed.  NULL: no memory. */
struct hf_zk_watched *hf_zk_listener_join(struct hf_zk           *zk,
                                          struct hf_zk_listener  *listener,
                                          enum hf_zk_watched_kind kind, const char *path,
                                          bool *fresh);

#endif
