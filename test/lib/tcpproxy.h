/* tcpproxy.h - a proxy before any server, which fails when told to.
 *
 * A proxy is a thread of the test that listens on a port of 127.0.0.1 and passes bytes on
 * to a server and back.  It counts bytes and connections.  Connections in which a certain
 * word was sent to the server are marked, so that a fault can hit only those, or only the
 * others.
 *
 *     struct tcpproxy *proxy = tcpproxy_start(getenv("HF_REDIS_ADDRESS"), "SUBSCRIBE");
 *     tcpproxy_cut(proxy, TCPPROXY_DOWN, TCPPROXY_PLAIN, 17);
 *     ... connect to tcpproxy_address(proxy), ask something ...
 *     assert_true(tcpproxy_await(proxy, 1000));
 *     tcpproxy_stop(proxy);
 *
 * Any thread may call these at any time.
 */
#ifndef HF_TEST_TCPPROXY_H
#define HF_TEST_TCPPROXY_H

#include <stdbool.h>
#include <stdint.h>

struct tcpproxy;

enum tcpproxy_way {
    TCPPROXY_UP = 1,   /* from the client to the server */
    TCPPROXY_DOWN = 2, /* from the server to the client */
    TCPPROXY_BOTH = 3,
};

/* Which connections. */
enum tcpproxy_which {
    TCPPROXY_PLAIN = 1,  /* in which the word was not sent yet */
    TCPPROXY_MARKED = 2, /* in which it was */
    TCPPROXY_ALL = 3,
};

/* `target` is "host:port", the host as a number.  `word` marks connections, in
 * upper or lower case; NULL: none. */
struct tcpproxy *tcpproxy_start(const char *target, const char *word);
void             tcpproxy_stop(struct tcpproxy *proxy); /* ends all connections */

/* "127.0.0.1:port", the proxy's until it is stopped. */
const char *tcpproxy_address(const struct tcpproxy *proxy);

/* Pass `bytes` more in this direction (UP or DOWN), counted over all these connections,
 * then close the one that sent the last.  Strikes once; replaces an earlier cut. */
void tcpproxy_cut(struct tcpproxy *proxy, enum tcpproxy_way way,
                  enum tcpproxy_which which, uint64_t bytes);
void tcpproxy_forget(struct tcpproxy *proxy); /* no cut */

/* Has it struck?  Or does it within `ms`? */
bool tcpproxy_has_struck(struct tcpproxy *proxy);
bool tcpproxy_await(struct tcpproxy *proxy, int ms);

/* Lasting faults.  Each call replaces the one before; NOBODY ends the fault. */
#define TCPPROXY_NOBODY ((enum tcpproxy_which)0)

/* Pass nothing on, not even a close; afterwards all of it. */
void tcpproxy_hold(struct tcpproxy *proxy, enum tcpproxy_way way,
                   enum tcpproxy_which which);

/* Drop all bytes. */
void tcpproxy_swallow(struct tcpproxy *proxy, enum tcpproxy_way way,
                      enum tcpproxy_which which);

/* The connections that are open now pass nothing up until this ends; new ones do.  So
 * their bytes arrive after those of newer connections. */
void tcpproxy_strand(struct tcpproxy *proxy, bool strand);

/* New connections go to another server. */
void tcpproxy_aim(struct tcpproxy *proxy, const char *target);

/* Refuse new connections. */
void tcpproxy_refuse(struct tcpproxy *proxy, bool refuse);

/* Close these connections now. */
void tcpproxy_drop(struct tcpproxy *proxy, enum tcpproxy_which which);

/* Bytes passed on and connections accepted since the start; connections open now. */
uint64_t tcpproxy_bytes(struct tcpproxy *proxy, enum tcpproxy_way way,
                        enum tcpproxy_which which);
uint64_t tcpproxy_connections(struct tcpproxy *proxy);
unsigned tcpproxy_open(struct tcpproxy *proxy, enum tcpproxy_which which);

#endif
