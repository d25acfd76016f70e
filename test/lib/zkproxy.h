/* zkproxy.h - a proxy before a ZooKeeper server, which fails when told to.
 *
 * A proxy is a thread of the test that listens on a port of 127.0.0.1 and passes frames
 * on to a server and back, one by one.  It counts them, and causes one of the faults
 * below at exactly the request that the rule names.  Several proxies may go to one
 * server.  Bytes that are not ZooKeeper's protocol (TLS, four-letter words) are passed
 * on, and only counted.
 *
 *     struct zkproxy *proxy = zkproxy_start(getenv("HF_ZK"));
 *     zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_DROP_AFTER, 15, 1 });
 *     ... connect to zkproxy_address(proxy), create ...
 *     assert_true(zkproxy_await(proxy, 1000));
 *     zkproxy_stop(proxy);
 *
 * Any thread may call these at any time.
 */
#ifndef HF_TEST_ZKPROXY_H
#define HF_TEST_ZKPROXY_H

#include <stdbool.h>
#include <stdint.h>

struct zkproxy;

/* `target` is "host:port", the host as a number; of a list the first is taken. */
struct zkproxy *zkproxy_start(const char *target);
void            zkproxy_stop(struct zkproxy *proxy); /* ends all connections */

/* "127.0.0.1:port", the proxy's until it is stopped. */
const char *zkproxy_address(const struct zkproxy *proxy);

/* ---- One fault at one request ---------------------------------------------------- */

enum zkproxy_fault {
    ZKPROXY_DROP_BEFORE,   /* the request does not arrive, the connection ends */
    ZKPROXY_DROP_AFTER,    /* the server has answered, but the answer is lost and the
                              connection ends */
    ZKPROXY_FREEZE_BEFORE, /* the request, and from then on everything, waits in the
                              proxy until zkproxy_thaw() */
    ZKPROXY_FREEZE_AFTER,  /* the same with the answer */
    ZKPROXY_CUT_UP,        /* after `nth` bytes to the server the next one ends the
                              connection, in the middle of whatever it is */
    ZKPROXY_CUT_DOWN,      /* the same with bytes from the server */
};

enum {
    ZKPROXY_CONNECT = 0,     /* opcode: begins or resumes a session */
    ZKPROXY_ANY = INT32_MIN, /* opcode: all but ZKPROXY_CONNECT and pings */
};

struct zkproxy_rule {
    enum zkproxy_fault fault;
    int32_t            opcode;
    uint64_t           nth; /* 1: the first of them from now on, on any connection */
    int                refuse_ms; /* then zkproxy_refuse() for so long */
};

/* Set the rule; replaces an earlier one.  It strikes once.  NULL: none. */
void zkproxy_rule(struct zkproxy *proxy, const struct zkproxy_rule *rule);

/* Has it struck?  Or does it within `ms`? */
bool zkproxy_has_struck(struct zkproxy *proxy);
bool zkproxy_await(struct zkproxy *proxy, int ms);

/* ---- Faults that last ---------------------------------------------------------- */

enum zkproxy_way {
    ZKPROXY_UP = 1,   /* from the client to the server */
    ZKPROXY_DOWN = 2, /* from the server to the client */
    ZKPROXY_BOTH = 3,
};

/* Pass nothing on, not even a close, until zkproxy_thaw(); then all of it.  New
 * connections are accepted, and wait, too. */
void zkproxy_freeze(struct zkproxy *proxy, enum zkproxy_way way);
void zkproxy_thaw(struct zkproxy *proxy);

/* Delay all bytes from now on; 0: no delay. */
void zkproxy_delay(struct zkproxy *proxy, enum zkproxy_way way, int ms);

/* Refuse new connections for `ms`; -1: until the next call; 0: accept them. */
void zkproxy_refuse(struct zkproxy *proxy, int ms);

/* Close all connections now. */
void zkproxy_drop(struct zkproxy *proxy);

/* Drop all pings. */
void zkproxy_swallow_pings(struct zkproxy *proxy, bool swallow);

/* ---- Counts since the start ---------------------------------------------------- */

/* Requests read from clients, pings and those that were dropped included. */
uint64_t zkproxy_requests(struct zkproxy *proxy, int32_t opcode);

/* Frames and bytes that were passed on, and connections accepted. */
uint64_t zkproxy_packets(struct zkproxy *proxy, enum zkproxy_way way);
uint64_t zkproxy_bytes(struct zkproxy *proxy, enum zkproxy_way way);
uint64_t zkproxy_connections(struct zkproxy *proxy);

#endif
