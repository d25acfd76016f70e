/* diagnose.h - shared by the files of DIAGNOSE.
 *
 *   diagnose.c         sends all calls at once, and reports when all are answered
 *   diagnose_server.c  findings about servers, session and rights
 *   diagnose_folder.c  findings about a lock's folder
 *   probe.c            a question to one server, on a connection of its own
 */
#ifndef HF_ZK_DIAGNOSE_H
#define HF_ZK_DIAGNOSE_H

#include "store/findings.h"
#include "store/zookeeper/inner.h"

/* ---- probe.c ------------------------------------------------------------------------ */

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
    bool                open;     /* in zk->probes */
    bool                finished; /* it is answered, or never will be */
    const char         *path;     /* the node to view; NULL: the question is "srvr" */
    hf_time             due;
    char                in[4096]; /* srvr: the answer, "" without one */
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

/* Stop it.  Harmless if it has been answered, or is all zeros. */
void hf_zk_probe_end(struct hf_zk_probe *probe);

/* ---- diagnose_folder.c -------------------------------------------------------------- */

/* Facts about a lock's folder, from the answers.  Errors are ZooKeeper's. */
struct hf_zk_folder_facts {
    int list_error;
    int enter_error, leave_error; /* of creating a node there, of deleting it */
    struct hf_zk_stat stat;
    size_t            holders, waiters;
    unsigned          kinds;       /* a bit for every kind of name in it */
    unsigned          other_kinds; /* the same for names that Holdfast did not make */
    size_t            foreign;
    char              foreign_name[64]; /* one of them */
    char              blocker[64];      /* one that sorts before all places */
    bool              acl_known;
    int32_t anyone; /* what anybody may do there, as ZooKeeper's permission bits */
};

void hf_zk_folder_take_list(struct hf_zk_folder_facts *facts, struct hf_zk_reply *reply);
void hf_zk_folder_take_acl(struct hf_zk_folder_facts *facts, struct hf_zk_reply *reply);
void hf_zk_folder_report(const struct hf_zk *zk, const struct hf_zk_line *line,
                         const struct hf_zk_folder_facts *facts,
                         struct hf_finding_list          *list);

/* ---- diagnose_server.c -------------------------------------------------------------- */

/* Facts about servers and rights, from the answers. */
struct hf_zk_server_facts {
    const char *srvr; /* "" if it was not answered */
    size_t      size; /* of the ensemble; 0: not known */
    int         create_error, delete_error;
    hf_time     took; /* to create a node and to delete it */

    /* A node as each server of the URL shows it; and as ours showed it before and after
     * that. */
    const char         *path;
    struct hf_zk_probe *probe;
    size_t              probes; /* 0: they were not asked */
    struct hf_zk_view   before, after;
};

void hf_zk_server_report(const struct hf_zk *zk, const struct hf_zk_server_facts *facts,
                         struct hf_finding_list *list);

#endif
