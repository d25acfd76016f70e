/* examine_server.c - what doctor tells of servers, session and rights. */
#include "store/zookeeper/examine.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSION_SHORT (10 * HF_SEC) /* less does not outlast a change of leaders */

/* ---- Who serves us --------------------------------------------------------------------- */

/* What follows `key` in the answer to srvr, up to one of `ends`. */
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

static void tell_srvr(const struct hf_zk *zk, const char *srvr,
                      struct hf_finding_list *list)
{
    char name[256], version[32], role[32];

    hf_dial_show(&zk->dial, name, sizeof name);
    if (!srvr_value(srvr, "version: ", "-, \n", version, sizeof version) ||
        !srvr_value(srvr, "Mode: ", " \n", role, sizeof role)) {
        hf_finding_add(list, HF_WARNING, "server",
                       "to have them told: 4lw.commands.whitelist=srvr in its zoo.cfg",
                       "%s; it does not tell version and role", name);
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

/* Alone it has no list of servers. */
static void tell_ensemble(const struct hf_zk *zk, const struct hf_zk_server_facts *facts,
                          struct hf_finding_list *list)
{
    bool   alone = strstr(facts->srvr, "Mode: standalone") != NULL;
    size_t named = zk->config.servers;
    bool   few = facts->size > 1 && named == 1 && is_address(zk->config.server[0].host);

    if (alone || facts->size == 1)
        hf_finding_add(list, HF_WARNING, "ensemble",
                       "three or more servers go on when one is lost",
                       "one server: without it there are no locks");
    else if (facts->size == 0)
        hf_finding_add(list, HF_FINE, "ensemble", NULL,
                       "its size is not to be read from /zookeeper/config");
    else
        hf_finding_add(list, few || facts->size == 2 ? HF_WARNING : HF_FINE, "ensemble",
                       few ? "name all of them in the URL: zk://host,host,host"
                       : facts->size == 2
                           ? "a third server would make it safer, not slower"
                           : NULL,
                       "%zu servers, which can do without %zu; %zu in the URL",
                       facts->size, (facts->size - 1) / 2, named);
}

/* ---- Do they show the same? --------------------------------------------------------------- */

static bool is_same_view(const struct hf_zk_view *a, const struct hf_zk_view *b)
{
    return a->there == b->there && (!a->there || (a->stat.czxid == b->stat.czxid &&
                                                  a->stat.pzxid == b->stat.pzxid &&
                                                  a->stat.cversion == b->stat.cversion &&
                                                  a->stat.children == b->stat.children));
}

/* `view` was taken after `before`, and before `after`.  The last change of a node's children
 * has a number, pzxid, which only rises. */
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

static void tell_views(const struct hf_zk *zk, const struct hf_zk_server_facts *facts,
                       struct hf_finding_list *list)
{
    char name[160], here[160];
    bool fine = true;

    hf_dial_show(&zk->dial, here, sizeof here);
    for (size_t i = 0; i < facts->members && facts->after.answered; i++) {
        const struct hf_zk_view *view = &facts->member[i].view;
        bool missed = view->answered && has_missed(view, &facts->before, &facts->after);

        hf_server_show(&zk->config.server[i], name, sizeof name);
        fine = fine && view->answered && !missed;
        if (!view->answered)
            hf_finding_add(list, HF_WARNING, "servers",
                           "clients do without it; see why it is down",
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
    if (facts->members > 0 && facts->after.answered && fine)
        hf_finding_add(list, HF_FINE, "servers", NULL,
                       "all %zu in the URL show the same in %s%s", facts->members,
                       facts->path,
                       is_same_view(&facts->before, &facts->after)
                           ? ""
                           : ", as far as can be told: it changed meanwhile");
}

/* ---- Session -------------------------------------------------------------------------- */

static void tell_session_time(const struct hf_zk              *zk,
                              const struct hf_zk_server_facts *facts,
                              struct hf_finding_list          *list)
{
    double  wanted = zk->config.session_ms / 1000.0;
    double  given = (double)zk->link.timeout / (double)HF_SEC;
    hf_time left = zk->base.alive_until - hf_now();
    bool    brief = zk->link.timeout < SESSION_SHORT && facts->size > 1;
    bool    cut = zk->link.timeout < zk->config.session_ms * HF_MS;

    hf_finding_add(list, brief ? HF_WARNING : HF_FINE, "session",
                   brief && cut
                       ? "raise maxSessionTimeout of the servers; 30 s outlast a "
                         "leader that hangs"
                   : brief ? "write session=30s: it outlasts a leader that hangs"
                           : NULL,
                   "%g s, asked for %g s: so long a dead holder is waited for", given,
                   wanted);
    if (facts->create_error == 0) /* a write has proven it */
        hf_finding_add(
            list, left > 0 ? HF_FINE : HF_WARNING, "deadline", NULL,
            "what is held now is surely ours for %.1f s, even if no server is heard",
            left > 0 ? (double)left / (double)HF_SEC : 0.0);
}

/* ---- Rights ----------------------------------------------------------------------------- */

static void tell_writing(const struct hf_zk *zk, const struct hf_zk_server_facts *facts,
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
                       "this client may make no nodes in %s", chroot);
    else if (facts->create_error == HF_ZK_INVALID_ACL)
        hf_finding_add(
            list, HF_FAULT, "read/write",
            "see acl= in the URL; with a certificate alone the server must ask "
            "for it (ssl.clientAuth)",
            "the server takes no such acl, or does not know who we are");
    else if (facts->create_error != 0)
        hf_finding_add(list, HF_FAULT, "read/write", NULL,
                       "no node can be made in %s: ZooKeeper's error %d", chroot,
                       facts->create_error);
    else if (facts->delete_error != 0)
        hf_finding_add(list, HF_FAULT, "read/write",
                       "give it the right to delete there, or no lock can be released",
                       "this client may make nodes in %s, and not delete them", chroot);
    else
        hf_finding_add(list, HF_FINE, "read/write", NULL,
                       "a node in %s was made and deleted in %.1f ms", chroot,
                       (double)facts->took / (double)HF_MS);
}

static void tell_identity(const struct hf_zk *zk, struct hf_finding_list *list)
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
                       "new nodes are for this identity alone");
    else if (!open)
        hf_finding_add(list, HF_FINE, "acl", NULL,
                       "new nodes are for those named in acl=");
    else
        hf_finding_add(list, known ? HF_FINE : HF_WARNING, "acl",
                       known ? NULL : "give clients an identity: ?auth=FILE",
                       "new nodes are open: whoever reaches the server may delete them%s",
                       known ? ", as the URL wants it" : "");
}

/* ---- The way there ----------------------------------------------------------------------- */

static void tell_way(const struct hf_zk *zk, struct hf_finding_list *list)
{
    if (zk->tls != NULL)
        hf_finding_add(list, HF_FINE, "encryption", NULL,
                       "TLS; the server's certificate is verified");
    else if (hf_address_is_local(&zk->dial.at.at))
        hf_finding_add(list, HF_FINE, "encryption", NULL,
                       "none, and not needed: this host");
    else
        hf_finding_add(list, HF_WARNING, "encryption",
                       "use zks: and the servers' secureClientPort",
                       "none: on the way %snotes can be read and locks be taken over",
                       zk->config.auth != NULL ? "the password and " : "");
}

void hf_zk_server_tell(const struct hf_zk *zk, const struct hf_zk_server_facts *facts,
                       struct hf_finding_list *list)
{
    tell_srvr(zk, facts->srvr, list);
    tell_ensemble(zk, facts, list);
    tell_views(zk, facts, list);
    tell_session_time(zk, facts, list);
    tell_writing(zk, facts, list);
    tell_identity(zk, list);
    tell_way(zk, list);
    hf_finding_add(list, HF_FINE, "clock", NULL,
                   "clock skew is irrelevant: no clock of a server is used");
}
