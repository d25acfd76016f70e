/* sync_query.h - a query that its caller waits for: struct hf_query plus a thread that
 * blocks.
 *
 * The caller creates it, the thread that turns the engine works on it, and the last of
 * the two frees it:
 *
 *     r = hf_sync_query_start(client, &req, limit, &query);
 *     ...
 *     r = hf_sync_query_wait(query);
 *     ... query->report, query->findings, query->history: yours to take ...
 *     hf_sync_query_end(query);
 *
 * If an answer changes the state of a lock, that is published before the answer is.
 */
#ifndef HF_SYNC_QUERY_H
#define HF_SYNC_QUERY_H

#include "client/client.h"
#include "store/findings.h"

/* A watch timed out. */
#define HF_SAME "nothing changed in the time given"

struct hf_sync_query {
    struct hf_query           query; /* first */
    struct hf_client         *client;
    char                     *name;
    char                     *note;
    struct hf_report         *report;   /* of LIST */
    struct hf_finding_list    findings; /* of DIAGNOSE */
    struct hf_history_report *history;  /* of HISTORY */
    int                       status;
    bool                      done;
    bool                      collected; /* the engine has it */
    bool                      abandoned; /* nobody waits for it */
    char                      errmsg[HF_ERRMSG_MAX];
    struct hf_sync_query     *next;
};

/* Every call about the queue of a name begins with this: checks the name, and takes the
 * mutex as hf_client_begin() does, unless it fails.  `all`: NULL stands for all
 * names. */
int hf_sync_query_begin(struct hf_client *client, const char *name, bool all,
                        int *cancel);

/* All that follow: with the mutex held. */

/* Copies `req` and its texts. */
int hf_sync_query_start(struct hf_client *client, const struct hf_req *req,
                        struct hf_limit limit, struct hf_sync_query **ret);

/* Wait until it is answered or its time is over.  wait() and result() return the
 * status, and remember a message if that is a failure. */
int  hf_sync_query_wait(struct hf_sync_query *query);
int  hf_sync_query_result(const struct hf_sync_query *query);
void hf_sync_query_end(struct hf_sync_query *query);

/* Start it, wait, end it. */
int hf_sync_query_run(struct hf_client *client, const struct hf_req *req,
                      struct hf_limit limit, struct hf_report **ret);

/* Hand new ones to the engine; publish those that it has answered. */
void hf_sync_queries_collect(struct hf_client *client);
void hf_sync_queries_publish(struct hf_client *client);

/* When the store is closed: free those that nobody waits for any more. */
void hf_sync_queries_drop(struct hf_client *client);

#endif
