/* examine.h - what the files of EXAMINE share.
 *
 *   examine.c         sends all calls at once, and answers when all of them are answered
 *   examine_server.c  what is told of servers, session and rights
 *   examine_folder.c  what is told of a lock's folder
 *   probe.c           a question to one server, on a connection of its own
 */
#ifndef HF_ZK_EXAMINE_H
#define HF_ZK_EXAMINE_H

#include "store/findings.h"
#include "store/zookeeper/inner.h"

/* ---- probe.c ------------------------------------------------------------------------- */

/* One server's view of a node. */
struct hf_zk_view {
    bool              answered, there;
    struct hf_zk_stat stat;
};

/* From the answer to an EXISTS. */
void hf_zk_view_take(struct hf_zk_view *view, int error, struct hf_zk_reader *body);

/* A question to one server, on a connection of its own. */
struct hf_zk_probe {
    struct hf_dial      dial; /* first */
    struct hf_zk_probe *next;
    bool                open; /* in zk->probes */
    bool                over; /* the connection is */
    const char         *path; /* of the node to be viewed; NULL: the question is "srvr" */
    hf_time             due;
    char                in[4096]; /* srvr: the answer; "": there was none */
    size_t              used;
    struct hf_zk_view   view;
    void (*on_answer)(struct hf_zk *zk, void *data);
    void *data;
};

/* Send it to a server of the URL, or (srvr) to the one in use.  on_answer comes from
 * hf_zk_probes_run(), within two seconds.  `path` is lent until then. */
void hf_zk_probe_send(struct hf_zk *zk, struct hf_zk_probe *probe, size_t server,
                      const char *path, void (*on_answer)(struct hf_zk *zk, void *data),
                      void       *data);

/* No more; harmless if it has been answered, or is all zeros. */
void hf_zk_probe_end(struct hf_zk_probe *probe);

/* ---- examine_folder.c ---------------------------------------------------------------- */

/* A lock's folder, from the answers about it.  Errors are ZooKeeper's. */
struct hf_zk_folder_facts {
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

void hf_zk_folder_take_list(struct hf_zk_folder_facts *facts, struct hf_zk_reply *reply);
void hf_zk_folder_take_acl(struct hf_zk_folder_facts *facts, struct hf_zk_reply *reply);
void hf_zk_folder_tell(const struct hf_zk *zk, const struct hf_zk_line *line,
                       const struct hf_zk_folder_facts *facts,
                       struct hf_finding_list          *list);

/* ---- examine_server.c ---------------------------------------------------------------- */

/* Servers and rights, from the answers about them. */
struct hf_zk_server_facts {
    const char *srvr; /* "" if it was not answered */
    size_t      size; /* of the ensemble; 0: not known */
    int         create_error, delete_error;
    hf_time     took; /* to make a node and to delete it */

    /* A node as each server of the URL shows it; and as ours did before and after. */
    const char         *path;
    struct hf_zk_probe *member;
    size_t              members; /* 0: they were not asked */
    struct hf_zk_view   before, after;
};

void hf_zk_server_tell(const struct hf_zk *zk, const struct hf_zk_server_facts *facts,
                       struct hf_finding_list *list);

#endif
