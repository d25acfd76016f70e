/* zkproxy_inner.h - shared by the two files of the proxy.
 *
 * zkproxy.c       the calls, the thread and the port
 * zkproxy_link.c  one connection: two ways, frames, and the rule
 *
 * Everything but waiting is done under the mutex.
 */
#ifndef HF_TEST_ZKPROXY_INNER_H
#define HF_TEST_ZKPROXY_INNER_H

#include "base/clock.h"
#include "lib/local_port.h"
#include "lib/zkproxy.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>

#define TALLIES 64

enum { UP, DOWN, WAYS };

struct chunk { /* bytes on their way */
    struct chunk *next;
    hf_time       due;
    bool          frame;
    size_t        size, sent;
    unsigned char bytes[];
};

struct way {
    int            in, out; /* descriptors */
    unsigned char *buffer;  /* read, but not yet a whole frame */
    size_t         used, room;
    struct chunk  *first, **last;
    uint64_t       frames;  /* read */
    bool           raw;     /* not ZooKeeper's protocol */
    bool           ended;   /* nothing more comes in */
    bool           blocked; /* `out` takes no more for now */
};

struct link {
    struct link *next;
    struct way   way[WAYS];
    bool         dead;
    bool         reset;   /* close it with a reset to the client */
    bool         awaited; /* the rule strikes at the answer with this xid */
    bool         connect; /* the answer awaited is the very first */
    int32_t      xid;
};

struct zkproxy {
    pthread_mutex_t    mutex;
    pthread_cond_t     strike;
    pthread_t          thread;
    int                wake; /* an eventfd: a call has changed something */
    bool               ending;
    struct sockaddr_in target;
    struct local_port  port;
    struct link       *links;

    struct zkproxy_rule rule;
    bool                armed, struck;
    uint64_t            left;   /* until the rule strikes */
    int                 frozen; /* enum zkproxy_way */
    int                 delay_ms[WAYS];
    bool                swallow_pings;
    hf_time             refuse_until;

    uint64_t packets[WAYS], bytes[WAYS], connections;
    struct {
        int32_t  opcode;
        uint64_t count;
    } tally[TALLIES];
    size_t tallies;
};

/* Make a link of two connected sockets; it owns them. */
void link_add(struct zkproxy *proxy, int client, int server);

/* Fill in what to poll for, [0] at the client and [1] at the server, and lower `*wake`
 * to when there is something to do. */
void link_prepare(const struct zkproxy *proxy, const struct link *link,
                  struct pollfd ends[2], hf_time *wake);

/* Pass on what can be. */
void link_process(struct zkproxy *proxy, struct link *link, const struct pollfd ends[2]);

/* Listen or refuse, as set now. */
void port_settle(struct zkproxy *proxy);

/* Close the dead ones, or all. */
void links_sweep(struct zkproxy *proxy, bool all);

#endif
