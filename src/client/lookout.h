/* lookout.h - watching a line for as long as one likes, without blocking.
 *
 *     LIST -> on_report -> WATCH -> LIST -> on_report, if it looks different...
 *
 * on_report is called like every callback: by the keeper or the caller's loop.
 */
#ifndef HF_LOOKOUT_H
#define HF_LOOKOUT_H

#include "client/client.h"

struct hf_lookout {
    struct hf_errand  errand; /* first; belongs to the one who turns */
    struct hf_client *client;
    char             *name;
    struct hf_report *seen; /* what was told last; the one who turns */

    /* `report` is lent for the call. */
    void (*on_report)(struct hf_lookout *lookout, const struct hf_report *report);
    void *data;

    bool               started, stopped; /* with the mutex */
    bool               in_inbox;
    struct hf_lookout *next;
};

/* With the mutex held.  After stop() no call comes any more, except one that is
 * under way; it frees itself. */
int  hf_lookout_start(struct hf_client *client, const char *name,
                      void (*on_report)(struct hf_lookout      *lookout,
                                       const struct hf_report *report),
                      void *data, struct hf_lookout **ret);
void hf_lookout_stop(struct hf_lookout *lookout);

void hf_lookouts_collect(struct hf_client *client);

/* When the store is closed: free what is left. */
void hf_lookouts_drop(struct hf_client *client);

#endif
