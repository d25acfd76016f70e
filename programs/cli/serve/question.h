/* question.h - requests that ask the store and wait for its answer, in threads of their
 * own: a slow store must delay neither other requests nor renewals.  The library gives
 * each of them up after 5 s; only a downgrade may take until the lease expires. */
#ifndef QUESTION_H
#define QUESTION_H

#include "serve/request.h"

#include <holdfast.h>

#include <pthread.h>

#define QUESTION_THREADS 4
#define QUESTION_REPORTS 4 /* lists at once: each has all places of the store in memory */

struct serve_lock;

struct question {
    struct request     request;
    struct serve_lock *lock;   /* that it is about, or NULL */
    struct hf_lock    *handle; /* of it */

    int               result;    /* 0 or more; HF_E... */
    char              text[512]; /* the library's message */
    struct hf_report *report;    /* list */
    size_t            told;      /* of its entries, to the program */
    struct question  *next;
};

struct questions {
    struct hf_client *client;
    pthread_mutex_t   mutex; /* guards all that follows */
    pthread_cond_t    asked;
    struct question  *open, **open_end; /* not asked yet */
    struct question  *done, **done_end;
    int               reports; /* lists that are being asked, or done */
    bool              stop;
    pthread_t         thread[QUESTION_THREADS];
    int               threads;
    size_t count; /* open, being asked, or done; only the main thread uses it */
    int    fd;    /* readable when one is done */
};

/* 0, or an errno. */
int questions_init(struct questions *questions, struct hf_client *client);

/* Ask it; the question is copied.  0 or HF_E... */
int questions_ask(struct questions *questions, const struct question *question);

/* The next that is done, or NULL; it stays the next until it is dropped. */
struct question *questions_done(struct questions *questions);
void             questions_drop(struct questions *questions);

/* Wait until the threads are done with those that they ask, and forget the rest. */
void questions_finish(struct questions *questions);

#endif
