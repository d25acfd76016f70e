/* fake_server.h - a server whose answers the test decides; it speaks just enough of
 * ZooKeeper's protocol. */
#ifndef HF_TEST_ZK_FAKE_H
#define HF_TEST_ZK_FAKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_SESSION 7

struct fake {
    pthread_t   thread;
    int         listener;
    atomic_bool ending;
    atomic_uint connections, requests;
    char        url[64];
    /* What it does with a greeting, and with any request but a ping; called in its
     * thread.  False: hang up. */
    bool (*greet)(int fd);
    bool (*answer)(int fd, const unsigned char *frame, size_t size);
};

/* Set `greet` and `answer` first.  It serves one client at a time. */
void fake_start(struct fake *fake);
void fake_stop(struct fake *fake);

bool fake_say(int fd, const void *bytes, size_t size);

/* Send a greeting; the usual one; an answer with a body of `size` bytes. */
bool fake_welcome_with(int fd, int32_t timeout, int64_t session);
bool fake_welcome(int fd);
bool fake_reply(int fd, int32_t xid, int32_t error, const void *body, size_t size);

/* Put a number of 1 to 8 bytes; get one of 4. */
void    fake_put(unsigned char **at, uint64_t value, int size);
int32_t fake_int(const unsigned char *frame, size_t at);

#endif
