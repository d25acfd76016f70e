/* verbs.h - how the verbs are put to the server, and what is special about some. */
#ifndef HF_MARIA_VERBS_H
#define HF_MARIA_VERBS_H

#include "store/mariadb/call/call.h"

struct hf_maria_task {
    struct hf_served_task base;
    struct hf_maria_call  call;
    bool                  for_session; /* the call names our session */
};

/* The session is dead: drop the calls that name it and were not sent yet. */
void hf_maria_tasks_drop(struct hf_maria *maria);

/* For struct hf_served_ops. */
void hf_maria_task_begin(struct hf_served_task *task);
void hf_maria_task_begin_read(struct hf_served_task *task);
void hf_maria_task_send(struct hf_served_task *task);
void hf_maria_task_free(struct hf_served_task *task);
void hf_maria_add_note(struct hf_served *served, const char *text);

hf_served_on_answer hf_maria_list;
hf_served_on_answer hf_maria_history;
void                hf_maria_diagnose(struct hf_served_task *task);

#endif
