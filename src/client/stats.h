/* stats.h - what a handle did, counted as its state moves. */
#ifndef HF_STATS_H
#define HF_STATS_H

#include "client/client.h"

struct hf_counts {
    struct hf_stats stats;
    hf_time         wished; /* since when it waits, or last waited */
    hf_time         held;   /* since when it is held, or was */
    unsigned        losses; /* sessions that had been lost by then */
};

void hf_stats_init(struct hf_counts *counts);

/* With the mutex held, after the state went from `before` to `after`. */
void hf_stats_count(struct hf_lock *lock, enum hf_state before, enum hf_state after,
                    int why);

/* The lease was renewed, but alive_until is still as before; a turn is over. */
void hf_stats_renewed(struct hf_client *client);
void hf_stats_publish(struct hf_client *client);

#endif
