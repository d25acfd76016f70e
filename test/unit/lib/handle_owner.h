/* handle_owner.h - which thread owns a handle; calls in threads of their own. */
#ifndef HF_TEST_OWNED_H
#define HF_TEST_OWNED_H

#include "client/handle/lock.h"

#include <pthread.h>

enum hf_owner_state owner_of(struct hf_lock *lock);

/* 10 s at most. */
void await_owner(struct hf_lock *lock, enum hf_owner_state state);

/* A call in a thread of its own. */
struct call {
    struct hf_lock *lock;
    int (*verb)(struct hf_lock *lock);
    int       result;
    pthread_t thread;
};

void begin_call(struct call    *call, int (*verb)(struct hf_lock *lock),
                struct hf_lock *lock);
int  end_call(struct call *call);

/* For `verb`. */
int call_acquire(struct hf_lock *lock);
int call_acquire_and_release(struct hf_lock *lock);

#endif
