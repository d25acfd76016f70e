/* call.c - see call.h. */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GREETING: only these, see link.c. */
static bool belongs_to_greeting(const struct hf_zk *zk, const struct hf_zk_call *call)
{
    return zk->dial.phase == HF_DIAL_GREETING &&
           (call == &zk->link.proof || call == &zk->link.end || call == &zk->beat.kick);
}

void hf_zk_call_begin(struct hf_zk *zk, struct hf_zk_call *call, enum hf_zk_opcode opcode,
                      hf_zk_on_reply *on_reply, void *data)
{
    struct hf_zk_calls *calls = &zk->calls;

    assert(!call->flying); /* one call is not in flight twice */
    assert(zk->dial.phase == HF_DIAL_READY || belongs_to_greeting(zk, call));
    assert(on_reply != NULL);
    calls->xid = calls->xid == INT32_MAX ? 1 : calls->xid + 1;
    *call = (struct hf_zk_call){ .xid = calls->xid,
                                 .opcode = opcode,
                                 .sent = zk->remote.now,
                                 .on_reply = on_reply,
                                 .data = data,
                                 .flying = true };
    if (calls->last != NULL)
        calls->last->next = call;
    else
        calls->first = call;
    calls->last = call;
    hf_remote_sent(&zk->remote);

    calls->begin = hf_zk_frame_begin(&calls->out);
    hf_zk_put_int(&calls->out, call->xid);
    hf_zk_put_int(&calls->out, opcode);
}

void hf_zk_call_end(struct hf_zk *zk)
{
    hf_zk_frame_end(&zk->calls.out, zk->calls.begin);
}

/* ---- The body of calls -------------------------------------------------------------- */

/* "digest:ana:hash,ip:10.0.0.1": an id may contain colons, but no commas. */
static void put_acl(struct hf_zk *zk)
{
    struct hf_zk_writer *out = &zk->calls.out;
    bool                 open = strcmp(zk->config.acl, "open") == 0;
    bool                 creator = strcmp(zk->config.acl, "creator") == 0;
    const char *part = open ? "world:anyone" : creator ? "auth:" : zk->config.acl;
    int32_t     count = 1;

    for (const char *c = part; *c != '\0'; c++)
        count += *c == ',';
    hf_zk_put_int(out, count);
    for (; count > 0; count--) {
        size_t scheme = strcspn(part, ":"), size = strcspn(part, ",");
        assert(scheme < size);  /* hf_zk_config_init() checked it */
        hf_zk_put_int(out, 31); /* everything: read, write, create, delete, admin */
        hf_zk_put_bytes(out, part, scheme);
        hf_zk_put_bytes(out, part + scheme + 1, size - scheme - 1);
        part += size + 1;
    }
}

static void put_create(struct hf_zk *zk, const char *path, const char *text,
                       enum hf_zk_mode mode)
{
    hf_zk_put_string(&zk->calls.out, path);
    hf_zk_put_bytes(&zk->calls.out, text, strlen(text));
    put_acl(zk);
    hf_zk_put_int(&zk->calls.out, (int32_t)mode);
}

void hf_zk_call_create(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                       const char *text, enum hf_zk_mode mode, hf_zk_on_reply *on_reply,
                       void *data)
{
    enum hf_zk_opcode opcode =
        mode == HF_ZK_CONTAINER ? HF_ZK_CREATE_CONTAINER : HF_ZK_CREATE2;

    hf_zk_call_begin(zk, call, opcode, on_reply, data);
    put_create(zk, path, text, mode);
    hf_zk_call_end(zk);
}

void hf_zk_call_delete(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                       hf_zk_on_reply *on_reply, void *data)
{
    hf_zk_call_begin(zk, call, HF_ZK_DELETE, on_reply, data);
    hf_zk_put_string(&zk->calls.out, path);
    hf_zk_put_int(&zk->calls.out, -1);
    hf_zk_call_end(zk);
}

void hf_zk_call_get(struct hf_zk *zk, struct hf_zk_call *call, enum hf_zk_opcode opcode,
                    const char *path, hf_zk_on_reply *on_reply, void *data)
{
    hf_zk_call_begin(zk, call, opcode, on_reply, data);
    hf_zk_put_string(&zk->calls.out, path);
    if (opcode != HF_ZK_GET_ACL)
        hf_zk_put_byte(&zk->calls.out, false); /* no watch */
    hf_zk_call_end(zk);
}

void hf_zk_ignore(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    (void)zk, (void)reply;
    free(data);
}

void hf_zk_call_check(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                      hf_zk_on_reply *on_reply, void *data)
{
    hf_zk_multi_begin(zk, call, on_reply, data);
    hf_zk_multi_check(zk, path);
    hf_zk_multi_end(zk);
}

void hf_zk_call_barrier(struct hf_zk *zk, struct hf_zk_call *call, const char *path)
{
    hf_zk_call_check(zk, call, path, hf_zk_ignore,
                     NULL); /* the next call reports errors */
}

static void put_set(struct hf_zk *zk, const char *path, const char *text, size_t size,
                    int32_t version)
{
    hf_zk_put_string(&zk->calls.out, path);
    hf_zk_put_bytes(&zk->calls.out, text, size);
    hf_zk_put_int(&zk->calls.out, version);
}

void hf_zk_call_set(struct hf_zk *zk, struct hf_zk_call *call, const char *path,
                    const char *text, size_t size, int32_t version,
                    hf_zk_on_reply *on_reply, void *data)
{
    hf_zk_call_begin(zk, call, HF_ZK_SET_DATA, on_reply, data);
    put_set(zk, path, text, size, version);
    hf_zk_call_end(zk);
}

/* ---- MULTI -------------------------------------------------------------------------- */

static void put_part(struct hf_zk *zk, int32_t type, bool done)
{
    hf_zk_put_int(&zk->calls.out, type);
    hf_zk_put_byte(&zk->calls.out, done);
    hf_zk_put_int(&zk->calls.out, -1);
}

void hf_zk_multi_begin(struct hf_zk *zk, struct hf_zk_call *call,
                       hf_zk_on_reply *on_reply, void *data)
{
    hf_zk_call_begin(zk, call, HF_ZK_MULTI, on_reply, data);
}

void hf_zk_multi_create(struct hf_zk *zk, const char *path, const char *text,
                        enum hf_zk_mode mode)
{
    put_part(zk, HF_ZK_CREATE2, false);
    put_create(zk, path, text, mode);
}

void hf_zk_multi_set(struct hf_zk *zk, const char *path, struct hf_zk_text text,
                     int32_t version)
{
    put_part(zk, HF_ZK_SET_DATA, false);
    put_set(zk, path, text.bytes, text.size, version);
}

static void put_path_part(struct hf_zk *zk, enum hf_zk_opcode opcode, const char *path)
{
    put_part(zk, opcode, false);
    hf_zk_put_string(&zk->calls.out, path);
    hf_zk_put_int(&zk->calls.out, -1);
}

void hf_zk_multi_delete(struct hf_zk *zk, const char *path)
{
    put_path_part(zk, HF_ZK_DELETE, path);
}

void hf_zk_multi_check(struct hf_zk *zk, const char *path)
{
    put_path_part(zk, HF_ZK_CHECK, path);
}

void hf_zk_multi_end(struct hf_zk *zk)
{
    put_part(zk, -1, true);
    hf_zk_call_end(zk);
}

/* The error of the next part.  False: it has none, because it succeeded or makes no
 * sense. */
static bool next_error(struct hf_zk_reader *body, int *ret)
{
    int32_t type = hf_zk_get_int(body);
    bool    done = hf_zk_get_byte(body) != 0;

    hf_zk_get_int(body);
    if (done || type != HF_ZK_ERROR)
        return false;
    *ret = hf_zk_get_int(body);
    return !body->bad;
}

int hf_zk_multi_error(const struct hf_zk_reply *reply, size_t index)
{
    struct hf_zk_reader body = reply->body;
    int                 error;

    for (size_t i = 0; next_error(&body, &error); i++)
        if (i == index)
            return error;
    return 0;
}

/* A failed MULTI says so only inside: which part failed, and that the rest was not tried.
 */
static int first_error(const struct hf_zk_reply *reply)
{
    struct hf_zk_reader body = reply->body;
    int                 error;

    while (next_error(&body, &error))
        if (error != 0 && error != HF_ZK_RUNTIME_INCONSISTENCY)
            return error;
    return body.bad ? HF_ZK_MARSHALLING : 0;
}

/* Servers answer a create2 inside a MULTI with the path alone.  We know what we need of
 * the stat: the node is ours, and this transaction created it. */
struct hf_zk_text hf_zk_multi_made(const struct hf_zk *zk, struct hf_zk_reply *reply,
                                   struct hf_zk_stat *stat)
{
    struct hf_zk_reader *body = &reply->body;
    int32_t              type = hf_zk_get_int(body);

    hf_zk_get_byte(body);
    hf_zk_get_int(body);
    struct hf_zk_text path = hf_zk_get_text(body);
    *stat = (struct hf_zk_stat){ .owner = zk->link.session, .czxid = reply->zxid };
    if (type == HF_ZK_CREATE2)
        hf_zk_get_stat(body, stat);
    if (body->bad)
        path.size = 0;
    return path;
}

/* ---- Answers ------------------------------------------------------------------------ */

static bool is_write(enum hf_zk_opcode opcode)
{
    switch (opcode) {
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
    case HF_ZK_DELETE:
    case HF_ZK_SET_DATA:
    case HF_ZK_MULTI:
        return true;
    default:
        return false;
    }
}

static struct hf_zk_call *take_first_call(struct hf_zk *zk)
{
    struct hf_zk_calls *calls = &zk->calls;
    struct hf_zk_call  *call = calls->first;

    assert(call != NULL && call->flying);
    calls->first = call->next;
    if (calls->first == NULL)
        calls->last = NULL;
    call->flying = false;
    hf_remote_answered(&zk->remote);
    return call;
}

bool hf_zk_calls_answer(struct hf_zk *zk, int32_t xid, struct hf_zk_reply reply,
                        hf_time answered)
{
    struct hf_zk_calls *calls = &zk->calls;

    if (calls->first == NULL || calls->first->xid != xid)
        return false;
    hf_zk_link_saw(zk, reply.zxid);

    struct hf_zk_call *call = take_first_call(zk);
    if (reply.error == 0 && call->opcode == HF_ZK_MULTI)
        reply.error = first_error(&reply);
    hf_zk_beat_heard(zk, call->sent, answered,
                     reply.error == 0 && is_write(call->opcode));
    call->on_reply(zk, call->data, &reply);
    return true;
}

void hf_zk_calls_fail(struct hf_zk *zk)
{
    struct hf_zk_calls *calls = &zk->calls;

    calls->out.used = 0;
    calls->out.failed = false;
    while (calls->first != NULL) {
        struct hf_zk_call *call = take_first_call(zk);
        struct hf_zk_reply reply = { .error = HF_ZK_CONNECTION_LOSS,
                                     .body = { .bad = true } };
        call->on_reply(zk, call->data, &reply);
    }
}

/* ---- Errors as messages ------------------------------------------------------------- */

static const char *error_text(int error)
{
    switch (error) {
    case HF_ZK_UNIMPLEMENTED:
        return "the server is too old for it: ZooKeeper 3.5 or later is needed";
    case HF_ZK_INVALID_ACL:
        return "it does not accept this acl, or does not know this client's identity";
    case HF_ZK_MARSHALLING:
    case HF_ZK_BAD_ARGUMENTS:
        return "it does not understand the request";
    case HF_ZK_NOT_READ_ONLY:
        return "the server is read-only: it has lost its quorum";
    case HF_ZK_OVERLONG:
        return "the answer is longer than 16 MB";
    default:
        return NULL;
    }
}

int hf_zk_fault(struct hf_zk *zk, int error, const char *what, const char *path)
{
    char *errmsg = zk->base.errmsg;

    assert(error != HF_ZK_OK);
    switch (error) {
    case HF_ZK_CONNECTION_LOSS:
    case HF_ZK_OPERATION_TIMEOUT:
    case HF_ZK_SESSION_MOVED:
    case HF_ZK_SESSION_EXPIRED:
        return HF_EDOWN; /* the link has said why */
    case HF_ZK_NO_AUTH:
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "ZooKeeper does not let %s %s %.80s; see its ACL, and whether user and "
                 "password are right",
                 zk->config.auth != NULL ? "this user" : "a client without a user", what,
                 path);
        return HF_EDENIED;
    case HF_ZK_QUOTA_EXCEEDED:
        snprintf(errmsg, HF_ERRMSG_MAX, "ZooKeeper cannot %s %.100s: a quota is used up",
                 what, path);
        return HF_EFULL;
    default:
        break;
    }
    if (error_text(error) != NULL)
        snprintf(errmsg, HF_ERRMSG_MAX, "ZooKeeper cannot %s %.100s: %s", what, path,
                 error_text(error));
    else
        snprintf(errmsg, HF_ERRMSG_MAX, "ZooKeeper cannot %s %.100s: its error %d", what,
                 path, error);
    return HF_ESTORE;
}
