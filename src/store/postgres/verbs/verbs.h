/* verbs.h - how the verbs are put to the server, and what is special about some. */
#ifndef HF_PG_VERBS_H
#define HF_PG_VERBS_H

#include "store/postgres/call/call.h"

struct hf_pg_task {
    struct hf_served_task base;
    struct hf_pg_call     call;
    bool                  for_session; /* the call names our session */
};

/* The session is dead: drop the calls that name it and were not sent yet. */
void hf_pg_tasks_drop(struct hf_pg *pg);

/* For struct hf_served_ops. */
void hf_pg_task_begin(struct hf_served_task *task);
void hf_pg_task_begin_read(struct hf_served_task *task);
void hf_pg_task_send(struct hf_served_task *task);
void hf_pg_add_note(struct hf_served *served, const char *text);

hf_served_on_answer hf_pg_list;
hf_served_on_answer hf_pg_history;
void                hf_pg_diagnose(struct hf_served_task *task);

#endif
