/* query.h - a request to the store that the caller waits for.
 *
 * Made by a caller, worked on by whoever turns, freed by the last of the two:
 *
 *     r = hf_query_start(client, &req, limit, &query);
 *     ...
 *     r = hf_query_wait(query);
 *     ... query->report, query->findings, query->history: yours to take ...
 *     hf_query_end(query);
 *
 * What an answer says about locks is visible before the answer is.
 */
#ifndef HF_QUERY_H
#define HF_QUERY_H

#include "client/client.h"
#include "store/findings.h"

/* A watch ended, and there was nothing to tell. */
#define HF_SAME "nothing changed in the time given"

struct hf_query {
    struct hf_errand       errand; /* first */
    struct hf_client      *client;
    char                  *name;
    char                  *note;
    struct hf_report      *report;   /* of LIST */
    struct hf_finding_list findings; /* of EXAMINE */
    struct hf_records     *history;  /* of HISTORY */
    int                    status;
    bool                   done;
    bool                   collected; /* the engine has it */
    bool                   abandoned; /* nobody waits for it */
    char                   errmsg[HF_ERRMSG_MAX];
    struct hf_query       *next;
};

/* What every call about lines begins with: takes the mutex, as hf_drive_begin()
 * does, unless it fails.  `all`: NULL stands for all names. */
int hf_query_begin(struct hf_client *client, const char *name, bool all, int *cancel);

/* All that follow: with the mutex held. */

/* `req` is copied, and what it points to. */
int hf_query_start(struct hf_client *client, const struct hf_req *req,
                   struct hf_limit limit, struct hf_query **ret);

/* Until it is answered or its time is over: the status, and a message for a person
 * if that is a failure. */
int  hf_query_wait(struct hf_query *query);
int  hf_query_result(const struct hf_query *query);
void hf_query_end(struct hf_query *query);

/* Start it, wait, end it. */
int hf_query_run(struct hf_client *client, const struct hf_req *req,
                 struct hf_limit limit, struct hf_report **ret);

/* Hand new ones to the engine; make visible what it has done. */
void hf_queries_collect(struct hf_client *client);
void hf_queries_publish(struct hf_client *client);

/* Free what nobody waits for any more, when the store is closed. */
void hf_queries_drop(struct hf_client *client);

#endif
