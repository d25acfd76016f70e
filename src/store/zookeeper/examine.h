/* examine.h - what the files of EXAMINE share.
 *
 *   examine.c         asks everything at once, and answers when all of it is there
 *   examine_server.c  what is told of servers, session and rights
 *   examine_folder.c  what is told of a lock's folder
 *   word.c            four-letter words
 */
#ifndef HF_ZK_EXAMINE_H
#define HF_ZK_EXAMINE_H

#include "store/findings.h"
#include "store/zookeeper/inner.h"

/* ---- word.c ------------------------------------------------------------------------- */

#define HF_ZK_WORD_MAX 4096

/* A question of four letters to the server in use, on a connection of its own. */
struct hf_zk_word {
    struct hf_zk      *zk;
    struct hf_zk_word *next;
    struct hf_stream   stream;
    bool               asking;
    struct hf_polled   polled;
    hf_time            due;
    char               text[HF_ZK_WORD_MAX]; /* the answer; "": there was none */
    size_t             used;
    void (*on_answer)(struct hf_zk *zk, void *data);
    void *data;
};

/* Ask.  on_answer comes from hf_zk_words_run(), within a second. */
void hf_zk_word_ask(struct hf_zk *zk, struct hf_zk_word *word, const char *letters,
                    void (*on_answer)(struct hf_zk *zk, void *data), void *data);

/* No more; harmless if it has been answered. */
void hf_zk_word_end(struct hf_zk_word *word);

/* ---- examine_folder.c ---------------------------------------------------------------- */

/* A lock's folder, from the answers about it.  Errors are ZooKeeper's. */
struct hf_zk_folder_look {
    int               list_error;
    int               enter_error, leave_error; /* if we made a node there, deleted it */
    struct hf_zk_stat stat;
    size_t            holders, waiters;
    unsigned          kinds;       /* a bit for every kind of name in it */
    unsigned          other_kinds; /* the same of those that Holdfast did not make */
    size_t            foreign;
    char              foreign_name[64]; /* one of them */
    char              blocker[64];      /* one that sorts before all places */
    bool              acl_known;
    int32_t           anyone; /* what anybody may do there: bits of ZooKeeper's */
};

void hf_zk_folder_take_list(struct hf_zk_folder_look *look, struct hf_zk_reply *reply);
void hf_zk_folder_take_acl(struct hf_zk_folder_look *look, struct hf_zk_reply *reply);
void hf_zk_folder_tell(const struct hf_zk *zk, const struct hf_zk_line *line,
                       const struct hf_zk_folder_look *look,
                       struct hf_finding_list         *list);

/* ---- examine_server.c ---------------------------------------------------------------- */

/* Servers and rights, from the answers about them. */
struct hf_zk_server_look {
    const char *srvr; /* "" if it was not answered */
    size_t      size; /* of the ensemble; 0: not known */
    int         create_error, delete_error;
    hf_time     took; /* to make a node and to delete it */
};

void hf_zk_server_tell(const struct hf_zk *zk, const struct hf_zk_server_look *look,
                       struct hf_finding_list *list);

#endif
