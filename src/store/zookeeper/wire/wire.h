/* wire.h - ZooKeeper's messages, as bytes.  No I/O.
 *
 * Everything is big-endian; strings and byte buffers have a 4-byte length in front (-1:
 * none), vectors a 4-byte count.  A frame is a 4-byte length and that many bytes.
 *
 * A writer appends to a buffer that grows.  It remembers a failure until the end: the
 * buffer is then useless.  A reader reads untrusted bytes: if something does not fit, it
 * becomes `bad`, and from then on returns zeros and empty strings without advancing, so
 * that callers check once at the end.
 */
#ifndef HF_ZK_WIRE_H
#define HF_ZK_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_ZK_FRAME_MAX (16 * 1024 * 1024) /* the longest that we accept */

enum hf_zk_opcode {
    HF_ZK_CREATE = 1,
    HF_ZK_DELETE = 2,
    HF_ZK_EXISTS = 3,
    HF_ZK_GET_DATA = 4,
    HF_ZK_SET_DATA = 5,
    HF_ZK_GET_ACL = 6,
    HF_ZK_SYNC = 9,
    HF_ZK_PING = 11,
    HF_ZK_GET_CHILDREN2 = 12,
    HF_ZK_CHECK = 13,
    HF_ZK_MULTI = 14,
    HF_ZK_CREATE2 = 15,
    HF_ZK_REMOVE_WATCHES = 18,
    HF_ZK_CREATE_CONTAINER = 19,
    HF_ZK_AUTH = 100,
    HF_ZK_SET_WATCHES = 101,
    HF_ZK_ADD_WATCH = 106, /* servers from 3.6 on */
    HF_ZK_CLOSE = -11,
    HF_ZK_ERROR = -1, /* in the answer to a MULTI */
};

/* The mode of a create. */
enum hf_zk_mode {
    HF_ZK_PERSISTENT = 0,
    HF_ZK_EPHEMERAL = 1,
    HF_ZK_EPHEMERAL_SEQUENTIAL = 3,
    HF_ZK_CONTAINER = 4,
};

/* Errors that locks meet; any other negative number is possible. */
enum hf_zk_error {
    HF_ZK_OK = 0,
    HF_ZK_RUNTIME_INCONSISTENCY = -2, /* in a MULTI: not tried, another part failed */
    HF_ZK_CONNECTION_LOSS = -4,
    HF_ZK_MARSHALLING = -5,
    HF_ZK_UNIMPLEMENTED = -6,
    HF_ZK_OPERATION_TIMEOUT = -7,
    HF_ZK_BAD_ARGUMENTS = -8,
    HF_ZK_NO_NODE = -101,
    HF_ZK_NO_AUTH = -102,
    HF_ZK_BAD_VERSION = -103,
    HF_ZK_NODE_EXISTS = -110,
    HF_ZK_SESSION_EXPIRED = -112,
    HF_ZK_INVALID_ACL = -114,
    HF_ZK_SESSION_MOVED = -118,
    HF_ZK_NOT_READ_ONLY = -119,
    HF_ZK_QUOTA_EXCEEDED = -125,
    HF_ZK_OVERLONG = -9999, /* our own: the answer is longer than a frame may be */
};

/* xids with a special meaning. */
enum {
    HF_ZK_XID_EVENT = -1,
    HF_ZK_XID_PING = -2,
    HF_ZK_XID_AUTH = -4,
};

/* Events about a watched path. */
enum hf_zk_event {
    HF_ZK_EVENT_CREATED = 1,
    HF_ZK_EVENT_DELETED = 2,
    HF_ZK_EVENT_CHANGED = 3,
    HF_ZK_EVENT_CHILDREN = 4,
};

/* ---- Writing ------------------------------------------------------------------------ */

struct hf_zk_writer {
    unsigned char *bytes;
    size_t         used, room;
    bool           failed; /* out of memory, or more than fits a frame */
};

void hf_zk_writer_finish(struct hf_zk_writer *writer);

/* Begin a frame; returns where it begins, for hf_zk_frame_end(). */
size_t hf_zk_frame_begin(struct hf_zk_writer *writer);
void   hf_zk_frame_end(struct hf_zk_writer *writer, size_t begin);

void hf_zk_put_byte(struct hf_zk_writer *writer, unsigned value); /* also a bool */
void hf_zk_put_int(struct hf_zk_writer *writer, int32_t value);
void hf_zk_put_long(struct hf_zk_writer *writer, int64_t value);
/* NULL: none. */
void hf_zk_put_string(struct hf_zk_writer *writer, const char *text);
void hf_zk_put_bytes(struct hf_zk_writer *writer, const void *bytes, size_t size);

/* ---- Reading ------------------------------------------------------------------------ */

struct hf_zk_reader {
    const unsigned char *bytes;
    size_t               size, at;
    bool                 bad;
};

/* Bytes inside the message; not NUL-terminated.  None: bytes "" and size 0. */
struct hf_zk_text {
    const char *bytes;
    size_t      size;
};

struct hf_zk_stat {
    int64_t czxid, mzxid, ctime, mtime; /* times: ms since 1970 by the server */
    int32_t version, cversion, aversion;
    int64_t owner; /* session of an ephemeral node; 0: none */
    int32_t length, children;
    int64_t pzxid;
};

/* Is there a complete frame in these bytes?  Its size without the length in front; -1:
 * not yet; -2: it is longer than HF_ZK_FRAME_MAX, or cannot be a frame. */
long hf_zk_frame_size(const void *bytes, size_t size);

struct hf_zk_reader hf_zk_reader_on(const void *bytes, size_t size);

unsigned          hf_zk_get_byte(struct hf_zk_reader *reader);
int32_t           hf_zk_get_int(struct hf_zk_reader *reader);
int64_t           hf_zk_get_long(struct hf_zk_reader *reader);
struct hf_zk_text hf_zk_get_text(struct hf_zk_reader *reader);
void              hf_zk_get_stat(struct hf_zk_reader *reader, struct hf_zk_stat *ret);

/* The count of a vector whose elements have at least `least` bytes each; bad if that many
 * cannot follow. */
size_t hf_zk_get_count(struct hf_zk_reader *reader, size_t least);

#endif
