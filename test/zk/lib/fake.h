/* fake.h - a server that says what it is told to say, and speaks just enough of
 * ZooKeeper's protocol to be believed until it does not.
 */
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
    /* What it does when it is greeted, and when it is asked anything but a ping; in
     * its thread.  False: hang up. */
    bool (*greet)(int fd);
    bool (*answer)(int fd, const unsigned char *frame, size_t size);
};

/* With `greet` and `answer` set.  It has a client at a time. */
void fake_start(struct fake *fake);
void fake_stop(struct fake *fake);

bool fake_say(int fd, const void *bytes, size_t size);

/* A greeting; the usual one; an answer, with `size` bytes of a body. */
bool fake_welcome_with(int fd, int32_t timeout, int64_t session);
bool fake_welcome(int fd);
bool fake_reply(int fd, int32_t xid, int32_t error, const void *body, size_t size);

/* A number of 1 to 8 bytes put to, and one of 4 taken from. */
void    fake_put(unsigned char **at, uint64_t value, int size);
int32_t fake_int(const unsigned char *frame, size_t at);

#endif
