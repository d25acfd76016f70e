/* remote_fake.h - a store whose server and user are the test itself. */
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

enum { FAKE_MANY = 20 }; /* requests, by id */

struct fake_task {
    struct hf_task base;
    bool           flying; /* in flight: cannot end before its answer */
    uint64_t       id;
};

struct fake {
    struct hf_remote remote;
    struct hf_dial   dial;
    uint64_t         place;   /* id of the place that the server may have */
    bool             at_once; /* the server answers before begin() returns */

    struct hf_req req[FAKE_MANY + 1];
    unsigned      answers[FAKE_MANY + 1];
    void (*in_done)(struct hf_req *); /* called by done(); NULL: nothing */

    /* Calls to the store, each a letter and the id of the request: "b1" begun, "w1" a
     * WATCH to end, "e1" ended, "f1" freed, "d1" done(), "l0" lost. */
    char told[512];
};

extern struct fake fake;

/* For cmocka: a new store, ready; and its end, with requests still at work or not. */
int fake_start(void **state);
int fake_stop(void **state);

/* The result of hf_dial_status() from now on. */
void fake_dial(int status);

void fake_submit(uint64_t id, enum hf_op op);
void fake_submit_this(struct hf_req *req, enum hf_op op); /* one more */
void fake_cancel(uint64_t id);
void fake_run(void); /* until there is nothing to do */

/* A call of the task is sent; it is answered. */
void fake_send(struct hf_task *task);
void fake_answer(struct hf_task *task);

/* The server answers: the task is not in flight any more. */
struct hf_task *fake_task(uint64_t id);

/* These calls came since the last check; or ignore them. */
#define fake_assert_told(expected)                \
    do {                                          \
        assert_string_equal(fake.told, expected); \
        fake.told[0] = '\0';                      \
    } while (0)
#define fake_forget_told() (fake.told[0] = '\0')

#endif
