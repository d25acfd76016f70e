/* stage.h - where a story plays: a world, hosts, and a transcript.
 *
 * Time is virtual and everything takes the time the story says; letters travel
 * 1 ms unless told otherwise.  A command happens at once; what comes of it is
 * seen when time passes.
 *
 *     a starts [with a lease of T]       T is a number and ms or s
 *     a wants NAME [as KIND] [once] [for T] [behind N] [following]
 *                KIND: mutex reader writer claim semaphore:N semaphore:N:WEIGHT
 *                behind N: only if fewer wait; following: wants to know its place
 *     a releases NAME        a cancels NAME         a lessens NAME to KIND
 *     a stops                a goes on              (it does nothing in between)
 *     a dies                 a closes
 *     a is cut off           a is reachable         (letters are lost, silently)
 *     a hears nothing                               (answers only are lost)
 *     a is slow by T         a is quick             (its letters travel longer)
 *     the connection of a breaks [late]             (late: what is on its way arrives)
 *     a breaks ticket N of NAME
 *     a asks for ticket N of NAME because WORD
 *     T pass[es]
 */
#ifndef STAGE_H
#define STAGE_H

#include "lib/host.h"

#define STAGE_HOSTS 4
#define STAGE_LOCKS 3
#define STAGE_TEXT  8192

struct stage;

struct role {               /* one lock of one host */
    struct hf_job      job; /* first: on_change() gets it */
    struct actor      *actor;
    char               name[NET_NAME];
    enum hf_hold_state state; /* as last told, and so are: */
    uint64_t           ahead;
    unsigned           asks;
    uint32_t           weight;
};

struct actor {
    struct stage *stage;
    char          name[16];
    struct host   host;
    struct role   role[STAGE_LOCKS];
    size_t        roles;
    enum hf_link  link;    /* as last told */
    uint64_t      session; /* in the world, as last told */
    bool          deaf, mute;
    hf_time       slow;
};

struct stage {
    struct net       net;
    struct actor     actor[STAGE_HOSTS];
    size_t           actors;
    uint64_t         top; /* highest ticket seen */
    struct hf_errand errand;
    char             name[NET_NAME];   /* of the line it is about */
    char             why[NET_NAME];    /* of an ASK */
    char             text[STAGE_TEXT]; /* what happened since it was last read */
    size_t           length;
};

void stage_open(struct stage *stage);
void stage_close(struct stage *stage);

/* Carry out a command.  NULL, or what is wrong with it. */
const char *stage_play(struct stage *stage, const char *command);

/* Add a line to the transcript. */
void stage_tell(struct stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* tell.c: what the world and the jobs report. */
void tell_served(struct net *net, const struct net_letter *letter, bool answered);
void tell_change(struct hf_job *job);
void tell_link(struct actor *actor);

#endif
