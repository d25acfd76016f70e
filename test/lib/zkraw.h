/* zkraw.h - a small ZooKeeper client, to see and do what a complete one hides.
 *
 * It shares no code with Holdfast.  It sends only what the test says: no pings, no
 * watches, no retries.
 */
#ifndef HF_TEST_ZKRAW_H
#define HF_TEST_ZKRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZKRAW_LIMIT_MS 10000

enum {
    ZKRAW_CREATE = 1,
    ZKRAW_DELETE = 2,
    ZKRAW_CHILDREN = 8,
    ZKRAW_PING = 11,
    ZKRAW_CLOSE = -11
};

struct zkraw {
    int           fd;
    int32_t       xid;         /* of the last request */
    unsigned char frame[8192]; /* being written, or received */
    size_t        size;
};

/* Append to the frame being written. */
void zkraw_put_int(struct zkraw *raw, int32_t value);
void zkraw_put_text(struct zkraw *raw, const char *text);

/* Connect to the first of "127.0.0.1:port,...": the descriptor, or -1 with errno. */
int zkraw_connect(const char *address);

/* The same, and begin a session.  False: refused; `fd` may be open. */
bool zkraw_open(struct zkraw *raw, const char *address, int session_ms);

/* End the session, and the connection. */
void zkraw_close(struct zkraw *raw);

/* Send a request without a body. */
void zkraw_send(struct zkraw *raw, int32_t xid, int32_t opcode);

/* The next answer into `frame`; false: none within `ms`, or the connection is over. */
bool zkraw_receive(struct zkraw *raw, int ms);

/* Four bytes of the answer as a number: at 0 the xid, at 12 the error. */
int32_t zkraw_int(const struct zkraw *raw, size_t at);

/* Read bytes that are no frame. */
bool zkraw_receive_bytes(struct zkraw *raw, void *to, size_t size, int ms);

/* Has the other end closed?  Reads a byte if there is one. */
bool zkraw_is_over(struct zkraw *raw);

/* Create a plain node.  zkraw_create() returns the server's error, or 0. */
void    zkraw_send_create(struct zkraw *raw, const char *path);
int32_t zkraw_create(struct zkraw *raw, const char *path);

/* Is there a node?  In a session of its own. */
bool zkraw_is_there(const char *address, const char *folder, const char *name);

#endif
