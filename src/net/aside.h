/* aside.h - a call that may take long, done in a thread that nobody waits for.
 *
 * When it is done a descriptor becomes readable.  A call that is abandoned ends by itself,
 * some time later: so its data belongs to the last of the two, owner and thread.
 */
#ifndef HF_ASIDE_H
#define HF_ASIDE_H

#include <stdbool.h>

struct hf_aside;

struct hf_aside_work {
    const char *name;         /* of the thread, 15 characters at most */
    void (*run)(void *data);  /* in the thread */
    void (*drop)(void *data); /* nobody needs `data` any more; in either thread */
};

/* Begin; `work` is lent for ever.  0, or an errno: then nothing was begun, and `data` is
 * still the caller's. */
int hf_aside_new(const struct hf_aside_work *work, void *data, struct hf_aside **ret);

/* Readable once it is done. */
int hf_aside_fd(const struct hf_aside *aside);

/* What run() wrote to `data` may be read from then on. */
bool hf_aside_done(const struct hf_aside *aside);

/* Abandon it, done or not. */
void hf_aside_free(struct hf_aside *aside);

#endif
