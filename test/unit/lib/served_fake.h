/* served_fake.h - a store of src/store/served whose server is the test itself. */
#ifndef HF_TEST_SERVED_FAKE_H
#define HF_TEST_SERVED_FAKE_H

#include "store/served/served.h"

#include "holdfast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SERVED_MANY = 8 }; /* requests, by number */

/* An answer of the server: the text of each part. */
struct served_reply {
    const char *part[12];
};

struct served_fake {
    struct hf_served served;
    struct hf_dial   dial;
    bool             breaks; /* the next renewal breaks the link */
    struct hf_req    req[SERVED_MANY];
    unsigned         answers[SERVED_MANY];
    struct hf_place  listed[4]; /* for the answer to LIST */
    struct hf_place  place[4];  /* of the last answer to LIST */
    size_t           places;
    char             asked[SERVED_MANY][16]; /* reason of an ASK in the answer */
    hf_time          watch_until;

    /* Calls to the server or the session: "enter 1 a w1 c1 l0 note", "renew", "gone",
     * "again", "over" (the link broke), "confirm", "read 1 a", "news 1"; blanks between
     * parts, "; " between calls. */
    char told[1024];
};

extern struct served_fake sfake;

/* For cmocka. */
int served_start(void **state);
int served_stop(void **state);

/* Connected and greeted, as at the start. */
void served_connect(void);

/* Submit a request, and let it begin. */
struct hf_req *served_ask(unsigned number, enum hf_op op, uint64_t id);

/* The server answers it. */
#define served_answer(number, ...) \
    served_answer_with(number, HF_SERVED_FINE, &(struct served_reply){ { __VA_ARGS__ } })
void served_answer_with(unsigned number, enum hf_served_fault fault,
                        const struct served_reply *reply);

/* Process what is due. */
void served_run(void);

/* Enter a place, granted or waiting behind two. */
struct hf_served_place *served_enter(uint64_t id, bool granted);

/* WATCH it, with the last answer to request `known`. */
struct hf_req *served_watch(unsigned number, uint64_t id, unsigned known);

#define served_assert_told(expected)               \
    do {                                           \
        assert_string_equal(sfake.told, expected); \
        sfake.told[0] = '\0';                      \
    } while (0)

#endif
