/* eye.h - one look at a store for as long as a program shows it.
 *
 * It drives a client without threads: poll eye_fd() for input, for eye_timeout_ms() at
 * most, then call eye_process().  One survey keeps the board; what happened comes from the
 * store's history if it keeps one, else from the changes of the board.
 */
#ifndef EYE_H
#define EYE_H

#include "board.h"

struct eye {
    struct hf_client *client;
    struct hf_survey *survey;
    struct board      board;
    struct past       past;
    bool              complete; /* the board has every line */
    bool              exact;    /* the past is the store's own history */
    uint64_t          last;     /* its last record that was seen */
    uint64_t          before;   /* of the past: what was there before we looked */
    uint64_t          missed;   /* records that the store forgot before they were seen */
    bool              reachable;
    char              why[256]; /* not reachable: why */
    int64_t           as_of;    /* the board is true of this time, us since 1970 */
    int64_t           lease_ms; /* the longest that was seen left; -1: none has a lease */
    int64_t           refreshed, asked, recalled;
    int64_t           refresh_us; /* how often leases are looked at */
    bool              unseen;     /* set it while nobody sees them: then they are not */
    uint64_t          told;       /* see eye_process() */
    bool              looked;
    int               pause_ms;
    uint64_t resumed; /* version of the board when eye_resume() was called; what is
                                  older was not told since */
    bool     resuming;
};

/* Open the store; `url` NULL: that of the environment.  0, or HF_E... and `error` tells
 * why.  `command` is what others see of us, if we ever wait. */
int  eye_open(struct eye *eye, const char *url, int pause_ms, char *error, size_t size);
void eye_close(struct eye *eye);

/* The board stays as it is, and the store is asked for nothing, until eye_resume(); the
 * session lives on by eye_process().  A store that refuses to go on leaves it paused. */
void eye_suspend(struct eye *eye);
int  eye_resume(struct eye *eye);

int eye_fd(struct eye *eye);
int eye_timeout_ms(struct eye *eye);

/* True if there is something new to show: of the board, the past or the link. */
bool eye_process(struct eye *eye);

/* What has happened by now, also if no line looks different: what came and went since the
 * last look is in the store's history all the same.  It costs a round trip, so call it when
 * somebody wants to know. */
void eye_recall(struct eye *eye);

/* How much is left of the lease of the place at that index now, in ms; as left_ms of struct
 * hf_entry. */
int64_t eye_left_ms(const struct board_line *line, size_t place, int64_t now);

/* How many locks were lost or broken since `time`; -1: not known. */
int64_t eye_lost_since(const struct eye *eye, int64_t time);

/* Round trips so far, in microseconds: below this are `percent` of them; -1: none yet. */
int64_t eye_round_trip_us(const struct eye *eye, unsigned percent);

#endif
