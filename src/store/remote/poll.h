/* poll.h - the store's epoll descriptor. */
#ifndef HF_REMOTE_POLL_H
#define HF_REMOTE_POLL_H

/* The store's descriptor: an epoll that forked children do not inherit.  HF_ESTORE: out
 * of descriptors, and `errmsg` says so. */
int hf_poll_open(char *errmsg);

/* One descriptor that it watches; all zero: none. */
struct hf_polled {
    int      fd;
    unsigned events;
    unsigned generation; /* of the process that added it, see base/fork.h */
};

/* Watch `fd` for these events only; 0: stop watching.  0 or HF_ENOMEM. */
int hf_polled_set(struct hf_polled *polled, int epoll, int fd, unsigned events);

/* Stop watching; before the descriptor is closed.  A forked child does not have our
 * descriptors, and may use their numbers for others: it only forgets. */
void hf_polled_end(struct hf_polled *polled, int epoll);

#endif
