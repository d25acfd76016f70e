/* remote_fake.h - a store whose server is the test itself, and its user. */
#ifndef HF_TEST_REMOTE_FAKE_H
#define HF_TEST_REMOTE_FAKE_H

#include "store/remote/task.h"

#include "holdfast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { FAKE_MANY = 20 }; /* requests; each is known by its id */

struct fake_task {
    struct hf_task base;
    bool           flying; /* it cannot end before it is answered */
    uint64_t       id;
};

struct fake {
    struct hf_remote remote;
    struct hf_dial   dial;
    uint64_t         place;   /* the one that the server may have */
    bool             at_once; /* it answers before begin() returns */

    struct hf_req req[FAKE_MANY + 1];
    unsigned      answers[FAKE_MANY + 1];
    void (*in_done)(struct hf_req *); /* what the user does then; NULL: nothing */

    /* What the store was told to do, a letter and the request's id for each: "b1" begun,
     * "w1" a WATCH to be ended, "e1" ended, "f1" freed, "d1" done(), "l0" lost. */
    char told[512];
};

extern struct fake fake;

/* For cmocka: a new one, ready; and the end, whatever a case has left at work. */
int fake_start(void **state);
int fake_stop(void **state);

/* What hf_dial_status() says from now on. */
void fake_dial(int status);

void fake_submit(uint64_t id, enum hf_op op);
void fake_submit_this(struct hf_req *req, enum hf_op op); /* one more */
void fake_cancel(uint64_t id);
void fake_run(void); /* there must be no more to do */

/* It is answered: nothing of it flies any more. */
struct hf_task *fake_task(uint64_t id);

/* This was told since it was last asked; or whatever it was. */
#define fake_assert_told(expected)                \
    do {                                          \
        assert_string_equal(fake.told, expected); \
        fake.told[0] = '\0';                      \
    } while (0)
#define fake_forget_told() (fake.told[0] = '\0')

#endif
