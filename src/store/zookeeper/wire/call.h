/* call.h - calls to a server and their answers, for the ZooKeeper store.
 *
 * A call is one message to the server.  Calls are put into one buffer, which is sent at
 * the end of a turn (hf_zk_link_flush), and answered in the order of sending.  When the
 * connection breaks, every call in flight is answered with HF_ZK_CONNECTION_LOSS: the
 * server may have carried it out, or not. */
#ifndef HF_ZK_CALL_H
#define HF_ZK_CALL_H

#include "base/clock.h"
#include "store/zookeeper/wire/wire.h"

struct hf_zk;

struct hf_zk_reply {
    int                 error; /* enum hf_zk_error */
    int64_t             zxid;  /* of a write: its own */
    struct hf_zk_reader body;
};

typedef void hf_zk_on_reply(struct hf_zk *zk, void *data, struct hf_zk_reply *reply);

/* An on_reply for answers that nobody needs: it frees `data`, which may be NULL. */
hf_zk_on_reply hf_zk_ignore;

/* Embedded in the caller's struct, which must stay in place until the answer. */
struct hf_zk_call {
    int32_t            xid;
    enum hf_zk_opcode  opcode;
    hf_time            sent;
    hf_zk_on_reply    *on_reply;
    void              *data;
    struct hf_zk_call *next;
    bool               flying;
};

struct hf_zk_calls {
    struct hf_zk_call  *first, *last;
    struct hf_zk_writer out;
    size_t              begin; /* where the last message begins in it */
    int32_t             xid;
};

/* Begin and end a message.  In between, its body is put into zk->calls.out. */
void hf_zk_call_begin(struct hf_zk *zk, struct hf_zk_call *call, enum hf_zk_opcode opcode,
                      hf_zk_on_reply *on_reply, void *data);
void hf_zk_call_end(struct hf_zk *zk);

void hf_zk_call_create(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                       const char *text, enum hf_zk_mode mode, hf_zk_on_reply *on_reply,
                       void *data);
void hf_zk_call_delete(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                       hf_zk_on_reply *on_reply, void *data);
void hf_zk_call_set(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                    const char *text, size_t size, int32_t version,
                    hf_zk_on_reply *on_reply, void *data);
/* GET_DATA, GET_CHILDREN2, EXISTS and the like.  They set no watch: set_watches.c does. */
void hf_zk_call_get(struct hf_zk *zk, struct hf_zk_call *call, enum hf_zk_opcode opcode,
                    const char *path, hf_zk_on_reply *on_reply, void *data);
/* Is that node there?  Sent as a write that changes nothing: the leader answers, and a
 * quorum agrees. */
void hf_zk_call_check(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                      hf_zk_on_reply *on_reply, void *data);
/* A barrier: the next call shows everything that was done before.  It is a write that a
 * quorum accepts and that changes nothing, whether `path` is there or not.  `sync` is not
 * enough: a deposed leader that does not know it yet answers that, too. */
void hf_zk_call_barrier(struct hf_zk *zk, struct hf_zk_call *call, const char *path);

/* A MULTI: begin it, put its parts, end it. */
void hf_zk_multi_begin(struct hf_zk *zk, struct hf_zk_call *call,
                       hf_zk_on_reply *on_reply, void *data);
void hf_zk_multi_create(struct hf_zk *zk, const char *path, const char *text,
                        enum hf_zk_mode mode);
void hf_zk_multi_set(struct hf_zk *zk, const char *path, struct hf_zk_text text,
                     int32_t version);
void hf_zk_multi_delete(struct hf_zk *zk, const char *path);
void hf_zk_multi_check(struct hf_zk *zk, const char *path);
void hf_zk_multi_end(struct hf_zk *zk);

/* A MULTI failed: the error of its part `index`. */
int hf_zk_multi_error(const struct hf_zk_reply *reply, size_t index);
/* A MULTI succeeded: the path and stat of the next node that it created.  The path is "" if
 * the answer makes no sense. */
struct hf_zk_text hf_zk_multi_made(const struct hf_zk *zk, struct hf_zk_reply *reply,
                                   struct hf_zk_stat *stat);

/* Take the answer to the oldest call.  False: its xid differs, or no call is in flight. */
bool hf_zk_calls_answer(struct hf_zk *zk, int32_t xid, struct hf_zk_reply reply,
                        hf_time answered);

/* The connection broke: answer every call with HF_ZK_CONNECTION_LOSS. */
void hf_zk_calls_fail(struct hf_zk *zk);

/* Translate ZooKeeper's error for the caller: returns HF_E..., and sets base.errmsg. */
int hf_zk_fault(struct hf_zk *zk, int error, const char *what, const char *path);

#endif
