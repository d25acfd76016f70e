/* poll.h - what a store's epoll descriptor is told to look for. */
#ifndef HF_REMOTE_POLL_H
#define HF_REMOTE_POLL_H

/* The store's descriptor: an epoll that forked children do not keep.  HF_ESTORE: there is
 * none, and `errmsg` tells why. */
int hf_poll_open(char *errmsg);

/* One descriptor that it looks at, or none: then all is zero. */
struct hf_polled {
    int      fd;
    unsigned events;
    unsigned generation; /* of the process that asked, see base/fork.h */
};

/* Look at `fd` for these events and at nothing else; 0: at nothing.  0 or HF_ENOMEM. */
int hf_polled_set(struct hf_polled *polled, int epoll, int fd, unsigned events);

/* Look at nothing; before the descriptor is closed.  A forked child has none of our
 * descriptors, and their numbers may be others by then: it only forgets. */
void hf_polled_end(struct hf_polled *polled, int epoll);

#endif
