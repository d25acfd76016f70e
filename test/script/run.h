/* run.h - one run of a script: a store, its clients, a network between them, a
 * transcript.
 *
 * Time is virtual.  A message takes 1 ms unless the script says otherwise.  A command
 * takes effect at once; its consequences show as time passes.
 *
 *     a starts [with a lease of T]       T is a number and ms or s
 *     a wants NAME [as KIND] [for T] [unless N wait] [following]
 *     a tries NAME [as KIND]                        (without waiting)
 *                KIND: mutex reader writer claim semaphore:N semaphore:N:WEIGHT
 *                for T: a time limit; following: told its place whenever that changes
 *     a releases NAME        a cancels NAME         a downgrades NAME to KIND
 *     a stops                a goes on              (it does nothing in between)
 *     a dies                 a closes
 *     a is cut off           a is reachable         (messages are lost, both ways)
 *     a hears nothing                               (answers are lost)
 *     a is slow by T         a is fast              (its messages travel longer)
 *     the connection of a breaks [late]             (late: messages under way arrive)
 *     a breaks place N of NAME
 *     a asks for place N of NAME because WORD
 *     T pass[es]
 */
#ifndef HF_TEST_SCRIPT_RUN_H
#define HF_TEST_SCRIPT_RUN_H

#include "lib/sim/client.h"

#define RUN_CLIENTS 4
#define RUN_LOCKS   3
#define RUN_TEXT    8192

struct run;

struct run_lock {           /* one lock of one client */
    struct hf_job      job; /* first: on_change() gets it */
    struct run_client *client;
    char               name[SIM_NAME];
    enum hf_hold_state state; /* in the transcript so far, as are: */
    uint64_t           ahead;
    unsigned           asks;
    uint32_t           weight;
};

struct run_client {
    struct run       *run;
    char              name[16];
    struct sim_client sim;
    struct run_lock   lock[RUN_LOCKS];
    size_t            locks;
    enum hf_link      link;    /* in the transcript so far */
    uint64_t          session; /* in the store; 0: none */
    bool              deaf, mute;
    hf_time           slow;
};

struct run {
    struct sim_network net;
    struct run_client  client[RUN_CLIENTS];
    size_t             clients;
    uint64_t           top; /* highest place seen */
    struct hf_query    query;
    char               name[SIM_NAME]; /* of the lock of the query */
    char               why[SIM_NAME];  /* of an ASK */
    char               text[RUN_TEXT]; /* transcript since it was last read */
    size_t             length;
};

void run_open(struct run *run);
void run_close(struct run *run);

/* Carry out a command.  NULL, or what is wrong with it. */
const char *run_command(struct run *run, const char *command);

/* Add a line to the transcript. */
void transcript_add(struct run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* transcript.c: what the store and the jobs report. */
void transcript_served(struct sim_network *net, const struct sim_message *message,
                       bool answered);
void transcript_change(struct hf_job *job);
void transcript_link(struct run_client *client);

#endif
