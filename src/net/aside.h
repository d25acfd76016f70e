/* aside.h - a call that may take long, made in a thread that nobody waits for.
 *
 * A descriptor becomes readable when it is done.  An abandoned call ends by itself some
 * time later.  So its data is freed by the last user, owner or thread.
 */
#ifndef HF_ASIDE_H
#define HF_ASIDE_H

#include <stdbool.h>

struct hf_aside;

struct hf_aside_work {
    const char *name;         /* of the thread, 15 characters at most */
    void (*run)(void *data);  /* in the thread */
    void (*drop)(void *data); /* free `data`; in either thread */
};

/* Begin; `work` must stay valid for ever.  0, or an errno: nothing was begun, and
 * `data` still belongs to the caller. */
int hf_aside_new(const struct hf_aside_work *work, void *data, struct hf_aside **ret);

/* Readable once it is done. */
int hf_aside_fd(const struct hf_aside *aside);

/* Once this is true, `data` may be read. */
bool hf_aside_done(const struct hf_aside *aside);

/* Abandon it, done or not. */
void hf_aside_free(struct hf_aside *aside);

#endif
