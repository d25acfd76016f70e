/* survey.h - what of SURVEY the rest of the ZooKeeper store sees.  See inner.h. */
#ifndef HF_ZK_SURVEY_H
#define HF_ZK_SURVEY_H

#include "store/zookeeper/link.h"

struct hf_zk_items;

/* survey.c has the table. */
enum hf_zk_survey_state {
    HF_ZK_SURVEY_OFF,
    HF_ZK_SURVEY_ARMING,
    HF_ZK_SURVEY_ON,
    HF_ZK_SURVEY_POLLING,
    HF_ZK_SURVEY_REMOVING,
};

struct hf_zk_survey {
    enum hf_zk_survey_state state;
    struct hf_zk_task      *task; /* the SURVEY at work; NULL: none */
    struct hf_zk_call       call;
    size_t                  changed, hidden; /* lines with that mark */
    unsigned                losses; /* connections that broke while it was asked to */
    hf_time told;   /* when the last SURVEY ended; 0: the next one begins anew */
    hf_time looked; /* the same, that said to look at all; 0: the next one does */
};

/* A SURVEY begins; is to end early; the same of one that has not begun; ends. */
void hf_zk_survey(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_survey_cancel(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_survey_not_begun(struct hf_zk *zk);
void hf_zk_survey_end(struct hf_zk *zk, const struct hf_zk_task *task);

/* The server says that something happened to a path. */
void hf_zk_survey_event(struct hf_zk *zk, struct hf_zk_text path);

/* gather.c: a lock's folder may be listed, or not. */
void hf_zk_survey_listed(struct hf_zk *zk, const char *name, bool denied);
/* ... and these places were found in one line, or in all (NULL). */
void hf_zk_survey_found(struct hf_zk *zk, const char *name,
                        const struct hf_zk_items *items);

/* Answer what can be answered; when to. */
void    hf_zk_survey_run(struct hf_zk *zk);
hf_time hf_zk_survey_wake(const struct hf_zk *zk);

/* The connection broke; the session is gone. */
void hf_zk_survey_over(struct hf_zk *zk);
void hf_zk_survey_drop(struct hf_zk *zk);

#endif
