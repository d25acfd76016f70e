/* diagnose_server.c - what doctor reports of servers, session and rights. */
#include "store/zookeeper/inspect/diagnose.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSION_SHORT \
    (10 * HF_SEC) /* a shorter one does not survive a change of leaders */

/* ---- Servers ------------------------------------------------------------------------ */

/* Copy the text after `key` in the answer to srvr, up to one of `ends`. */
static bool srvr_value(const char *text, const char *key, const char *ends, char *ret,
                       size_t size)
{
    const char *at = strstr(text, key);

    if (at == NULL)
        return false;
    at += strlen(key);
    snprintf(ret, size, "%.*s", (int)strcspn(at, ends), at);
    return ret[0] != '\0';
}

static bool is_old(const char *version)
{
    char *minor;
    long  major = strtol(version, &minor, 10);

    return major < 3 || (major == 3 && *minor == '.' && strtol(minor + 1, NULL, 10) < 5);
}

static void report_srvr(const struct hf_zk *zk, const char *srvr,
                        struct hf_finding_list *list)
{
    char name[256], version[32], role[32];

    hf_dial_show(&zk->dial, name, sizeof name);
    if (!srvr_value(srvr, "version: ", "-, \n", version, sizeof version) ||
        !srvr_value(srvr, "Mode: ", " \n", role, sizeof role)) {
        hf_finding_add(list, HF_WARNING, "server",
                       "to see them, put 4lw.commands.whitelist=srvr into its zoo.cfg",
                       "%s; it does not show its version and role", name);
        return;
    }
    hf_finding_add(list, is_old(version) ? HF_FAULT : HF_FINE, "server",
                   is_old(version) ? "locks need 3.5 or later: upgrade it" : NULL,
                   "%s, ZooKeeper %s, %s", name, version, role);
}

static bool is_address(const char *host)
{
    unsigned char address[16];

    return inet_pton(AF_INET, host, address) == 1 ||
           inet_pton(AF_INET6, host, address) == 1;
}

/* A standalone server has no list of servers. */
static void report_ensemble(const struct hf_zk              *zk,
                            const struct hf_zk_server_facts *facts,
                            struct hf_finding_list          *list)
{
    bool   standalone = strstr(facts->srvr, "Mode: standalone") != NULL;
    size_t named = zk->config.servers;
    bool   few = facts->size > 1 && named == 1 && is_address(zk->config.server[0].host);

    if (standalone || facts->size == 1)
        hf_finding_add(list, HF_WARNING, "ensemble",
                       "three or more servers survive the loss of one",
                       "one server: without it there are no locks");
    else if (facts->size == 0)
        hf_finding_add(list, HF_FINE, "ensemble", NULL,
                       "/zookeeper/config does not show its size");
    else
        hf_finding_add(list, few || facts->size == 2 ? HF_WARNING : HF_FINE, "ensemble",
                       few ? "name all of them in the URL: zk://host,host,host"
                       : facts->size == 2
                           ? "a third server would make it safer, not slower"
                           : NULL,
                       "%zu servers, of which %zu may fail; %zu in the URL", facts->size,
                       (facts->size - 1) / 2, named);
}

/* ---- Do they show the same? --------------------------------------------------------- */

static bool is_same_view(const struct hf_zk_view *a, const struct hf_zk_view *b)
{
    return a->there == b->there && (!a->there || (a->stat.czxid == b->stat.czxid &&
                                                  a->stat.pzxid == b->stat.pzxid &&
                                                  a->stat.cversion == b->stat.cversion &&
                                                  a->stat.children == b->stat.children));
}

/* `view` was taken after `before`, and before `after`.  pzxid, the number of the last
 * change of a node's children, only rises. */
static bool has_missed(const struct hf_zk_view *view, const struct hf_zk_view *before,
                       const struct hf_zk_view *after)
{
    if (is_same_view(before, after))
        return !is_same_view(view, before);
    return view->there && before->there && view->stat.czxid == before->stat.czxid &&
           (view->stat.pzxid < before->stat.pzxid ||
            (view->stat.pzxid == before->stat.pzxid && !is_same_view(view, before)));
}

static int children_of(const struct hf_zk_view *view)
{
    return view->there ? view->stat.children : 0;
}

static void report_views(const struct hf_zk *zk, const struct hf_zk_server_facts *facts,
                         struct hf_finding_list *list)
{
    char name[160], here[160];
    bool fine = true;

    hf_dial_show(&zk->dial, here, sizeof here);
    for (size_t i = 0; i < facts->probes && facts->after.answered; i++) {
        const struct hf_zk_view *view = &facts->probe[i].view;
        bool missed = view->answered && has_missed(view, &facts->before, &facts->after);

        hf_server_show(&zk->config.server[i], name, sizeof name);
        fine = fine && view->answered && !missed;
        if (!view->answered)
            hf_finding_add(list, HF_WARNING, "servers",
                           "clients use the others; find out why it is down",
                           "%s does not answer", name);
        else if (missed)
            hf_finding_add(list, HF_FAULT, "servers",
                           "stop the one that differs from the rest, empty its data "
                           "folder, start it again",
                           "%s shows %d nodes in %s, and %s %d: one of them has missed "
                           "something",
                           name, children_of(view), facts->path, here,
                           children_of(&facts->before));
    }
    if (facts->probes > 0 && facts->after.answered && fine)
        hf_finding_add(list, HF_FINE, "servers", NULL,
                       "all %zu in the URL show the same in %s%s", facts->probes,
                       facts->path,
                       is_same_view(&facts->before, &facts->after)
                           ? ""
                           : ", as far as we can tell: it changed meanwhile");
}

/* ---- Session ------------------------------------------------------------------------ */

static void report_session(const struct hf_zk *zk, const struct hf_zk_server_facts *facts,
                           struct hf_finding_list *list)
{
    double  wanted = zk->config.session_ms / 1000.0;
    double  given = (double)zk->link.timeout / (double)HF_SEC;
    hf_time left = zk->base.alive_until - hf_now();
    bool    brief = zk->link.timeout < SESSION_SHORT && facts->size > 1;
    bool    cut = zk->link.timeout < zk->config.session_ms * HF_MS;

    hf_finding_add(list, brief ? HF_WARNING : HF_FINE, "session",
                   brief && cut
                       ? "raise maxSessionTimeout of the servers; 30 s survive a "
                         "leader that hangs"
                   : brief ? "write session=30s: that survives a leader that hangs"
                           : NULL,
                   "%g s, requested %g s: how long a dead holder blocks others", given,
                   wanted);
    if (facts->create_error == 0) /* a write has renewed it */
        hf_finding_add(
            list, left > 0 ? HF_FINE : HF_WARNING, "deadline", NULL,
            "locks held now are surely ours for %.1f s, even without any server",
            left > 0 ? (double)left / (double)HF_SEC : 0.0);
}

/* ---- Rights ------------------------------------------------------------------------- */

static void report_rights(const struct hf_zk *zk, const struct hf_zk_server_facts *facts,
                          struct hf_finding_list *list)
{
    const char *chroot = hf_zk_root(zk);

    if (facts->create_error == HF_ZK_NO_NODE)
        hf_finding_add(list, HF_FAULT, "read/write",
                       "`holdfast init` makes it; or correct the URL",
                       "there is no node %s, the chroot of the store URL", chroot);
    else if (facts->create_error == HF_ZK_NO_AUTH)
        hf_finding_add(list, HF_FAULT, "read/write",
                       "give it create, delete and read there (zkCli.sh: setAcl), or use "
                       "another user",
                       "this client may not create nodes in %s", chroot);
    else if (facts->create_error == HF_ZK_INVALID_ACL)
        hf_finding_add(
            list, HF_FAULT, "read/write",
            "see acl= in the URL; with a certificate alone the server must ask "
            "for it (ssl.clientAuth)",
            "the server does not accept this acl, or does not know this client");
    else if (facts->create_error != 0)
        hf_finding_add(list, HF_FAULT, "read/write", NULL,
                       "no node can be created in %s: ZooKeeper's error %d", chroot,
                       facts->create_error);
    else if (facts->delete_error != 0)
        hf_finding_add(list, HF_FAULT, "read/write",
                       "give it the right to delete there, or no lock can be released",
                       "this client may create nodes in %s, but not delete them", chroot);
    else
        hf_finding_add(list, HF_FINE, "read/write", NULL,
                       "a node in %s was created and deleted in %.1f ms", chroot,
                       (double)facts->took / (double)HF_MS);
}

static void report_identity(const struct hf_zk *zk, struct hf_finding_list *list)
{
    const struct hf_zk_config *config = &zk->config;
    bool                       known = config->auth != NULL || config->certified;
    bool                       open = strcmp(config->acl, "open") == 0;

    if (config->auth != NULL)
        hf_finding_add(list, HF_FINE, "identity", NULL, "user %.*s%s",
                       (int)strcspn(config->auth, ":"), config->auth,
                       config->certified ? ", and a certificate" : "");
    else
        hf_finding_add(list, HF_FINE, "identity", NULL, "%s",
                       known ? "a certificate" : "none");
    if (strcmp(config->acl, "creator") == 0)
        hf_finding_add(list, HF_FINE, "acl", NULL,
                       "only this identity may use new nodes");
    else if (!open)
        hf_finding_add(list, HF_FINE, "acl", NULL,
                       "only the identities in acl= may use new nodes");
    else
        hf_finding_add(
            list, known ? HF_FINE : HF_WARNING, "acl",
            known ? NULL : "give clients an identity: ?auth=FILE",
            "new nodes are open: any client that reaches the server may delete them%s",
            known ? ", as the URL says" : "");
}

/* ---- Encryption --------------------------------------------------------------------- */

static void report_encryption(const struct hf_zk *zk, struct hf_finding_list *list)
{
    if (zk->tls != NULL)
        hf_finding_add(list, HF_FINE, "encryption", NULL,
                       "TLS; the server's certificate is verified");
    else if (hf_address_is_local(&zk->dial.at.at))
        hf_finding_add(list, HF_FINE, "encryption", NULL,
                       "none, and not needed: this host");
    else
        hf_finding_add(
            list, HF_WARNING, "encryption", "use zks: and the servers' secureClientPort",
            "none: anybody on the network can read %snotes, and take locks over",
            zk->config.auth != NULL ? "the password and " : "");
}

void hf_zk_server_report(const struct hf_zk *zk, const struct hf_zk_server_facts *facts,
                         struct hf_finding_list *list)
{
    report_srvr(zk, facts->srvr, list);
    report_ensemble(zk, facts, list);
    report_views(zk, facts, list);
    report_session(zk, facts, list);
    hf_finding_add(list, HF_FINE, "places", NULL,
                   "those of one client may have %zu bytes of paths, with maxbuffer=%d",
                   hf_zk_config_most(&zk->config), zk->config.buffer);
    report_rights(zk, facts, list);
    report_identity(zk, list);
    report_encryption(zk, list);
    hf_finding_add(list, HF_FINE, "clock", NULL,
                   "clock skew is irrelevant: no clock of a server is used");
}
