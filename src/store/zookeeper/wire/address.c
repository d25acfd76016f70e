/* address.c - parses a zk: URL.
 *
 *     zk://[user:password@]host[:port],host[:port].../chroot?session=30s&...
 */
#include "store/param.h"
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSION_MIN (2 * HF_SEC)
#define AUTH_MAX    512
#define BUFFER      0xfffff /* the servers' default */
#define BUFFER_MIN  (256 * 1024)
#define BUFFER_MAX  (1024 * 1024 * 1024)

/* ---- Servers ------------------------------------------------------------------------ */

static int split_servers(struct hf_zk_config *ret, char *text, bool at_follows,
                         char *errmsg)
{
    int count = hf_servers_parse(text, "2181", ret->server, HF_ZK_SERVERS, errmsg);

    if (count < 0 && at_follows) /* part of a password may have been taken for a server */
        return hf_param_complain(errmsg, "no servers in",
                                 "zk:", "in a password write %2F for / and %3F for ?");
    if (count == 0)
        return hf_param_complain(errmsg, "no server in",
                                 "zk:", "write zk://host:2181/chroot");
    if (count < 0)
        return count;
    assert(count <= HF_ZK_SERVERS);
    ret->servers = (size_t)count;
    return 0;
}

static bool is_path(const char *text)
{
    for (const char *part = text; *part == '/';) {
        size_t length = strcspn(++part, "/");
        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && strncmp(part, "..", 2) == 0))
            return false;
        part += length;
    }
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    return true;
}

static int set_chroot(struct hf_zk_config *ret, char *text, char *errmsg)
{
    size_t length = strlen(text);

    while (length > 0 && text[length - 1] == '/')
        text[--length] = '\0';
    if (length >= sizeof ret->chroot || !is_path(text))
        return hf_param_complain(errmsg, "not a ZooKeeper path:", text,
                                 "write /name/name of 255 bytes at most");
    memcpy(ret->chroot, text, length + 1);
    return 0;
}

static int split_url(struct hf_zk_config *ret, char *text, char *errmsg)
{
    if (strncmp(text, "//", 2) != 0)
        return hf_param_complain(errmsg, "no server in", text,
                                 "write zk://host:2181/chroot");
    text += 2;

    char *chroot = text + strcspn(text, "/");
    bool  at = strchr(chroot, '@') != NULL;
    int   r = set_chroot(ret, chroot, errmsg);
    if (r < 0)
        return r;
    *chroot = '\0';
    return split_servers(ret, text, at, errmsg);
}

/* ---- Parameters --------------------------------------------------------------------- */

static int set_style(struct hf_zk_config *ret, const char *text, char *errmsg)
{
    ret->style = HF_ZK_CURATOR;
    if (text == NULL || strcmp(text, "curator") == 0)
        return 0;
    if (strcmp(text, "kazoo") != 0)
        return hf_param_complain(errmsg, "there is no style", text,
                                 "use curator or kazoo");
    ret->style = HF_ZK_KAZOO;
    return 0;
}

static bool is_identity(const char *text)
{
    return strchr(text, ':') != NULL && strlen(text) <= AUTH_MAX;
}

static int read_auth(struct hf_zk_config *ret, const char *file, char *errmsg)
{
    char line[AUTH_MAX + 2] = "";
    int  r = hf_param_read_auth(file, line, sizeof line, errmsg);

    if (r == 0 &&
        ((ret->auth = strdup(line)) == NULL || (ret->auth_file = strdup(file)) == NULL))
        r = HF_ENOMEM;
    explicit_bzero(line, sizeof line);
    return r;
}

/* The file takes precedence over the URL, and the URL over the environment. */
static int set_auth(struct hf_zk_config *ret, const struct hf_config *config,
                    char *errmsg)
{
    const char *file = hf_config_get(config, "auth");
    const char *variable = secure_getenv("HOLDFAST_ZK_AUTH");
    const char *where = file;
    int         r = 0;

    if (file != NULL) {
        r = read_auth(ret, file, errmsg);
    } else if (config->user != NULL) {
        where = "the URL";
        ret->auth = strdup(config->user);
    } else if (variable != NULL && variable[0] != '\0') {
        where = "HOLDFAST_ZK_AUTH";
        ret->auth = strdup(variable);
    } else {
        return 0;
    }
    if (r < 0 || ret->auth == NULL)
        return r < 0 ? r : HF_ENOMEM;
    if (!is_identity(ret->auth))
        return hf_param_complain(errmsg, "no user:password in", where,
                                 "SASL is not supported, only digest");
    return 0;
}

/* "scheme:id,scheme:id" */
static bool is_acl_list(const char *text)
{
    if (strlen(text) >= HF_ZK_ACL_MAX)
        return false;
    for (;;) {
        size_t scheme = strcspn(text, ":,");
        if (scheme == 0 || text[scheme] != ':')
            return false;
        text += strcspn(text, ",");
        if (*text++ == '\0')
            return true;
    }
}

static int set_acl(struct hf_zk_config *ret, const char *text, char *errmsg)
{
    bool known = ret->auth != NULL || ret->certified;

    if (text == NULL)
        text = known ? "creator" : "open";
    if (strcmp(text, "creator") == 0 && !known)
        return hf_param_complain(errmsg, "no identity for acl", text,
                                 "name an identity by ?auth=FILE or HOLDFAST_ZK_AUTH");
    if (strcmp(text, "creator") != 0 && strcmp(text, "open") != 0 && !is_acl_list(text))
        return hf_param_complain(errmsg, "there is no acl", text,
                                 "use creator, open, or scheme:id,scheme:id");
    ret->acl = strdup(text);
    return ret->acl != NULL ? 0 : HF_ENOMEM;
}

/* A server refuses messages that are longer than this, or (since 3.5.7) twice as long. */
static int set_buffer(struct hf_zk_config *ret, const char *text, char *errmsg)
{
    char *end;

    ret->buffer = BUFFER;
    if (text == NULL)
        return 0;
    long value = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || value < BUFFER_MIN ||
        value > BUFFER_MAX)
        return hf_param_complain(errmsg, "maxbuffer is out of range:", text,
                                 "write jute.maxbuffer of the servers in bytes, from "
                                 "262144 to 1073741824");
    ret->buffer = (int)value;
    return 0;
}

size_t hf_zk_config_most(const struct hf_zk_config *config)
{
    return (size_t)config->buffer / 4 * 3;
}

static int set_params(struct hf_zk_config *ret, const struct hf_config *config,
                      char *errmsg)
{
    hf_time session = 0;
    int     r = hf_param_time(config, "session", SESSION_MIN, &session, errmsg);

    ret->session_ms = (int)(session / HF_MS);

    if (r == 0)
        r = set_buffer(ret, hf_config_get(config, "maxbuffer"), errmsg);
    if (r == 0)
        r = set_style(ret, hf_config_get(config, "style"), errmsg);
    if (r == 0)
        r = set_auth(ret, config, errmsg);
    if (r == 0)
        r = set_acl(ret, hf_config_get(config, "acl"), errmsg);
    return r;
}

int hf_zk_config_init(struct hf_zk_config *ret, const struct hf_config *config,
                      char *errmsg)
{
    *ret = (struct hf_zk_config){ .secure = strcmp(config->scheme, "zks") == 0,
                                  .certified = hf_config_get(config, "cert") != NULL };
    snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");

    char *text = strdup(config->rest);
    if (text == NULL)
        return HF_ENOMEM;
    int r = split_url(ret, text, errmsg);
    free(text);
    if (r == 0)
        r = set_params(ret, config, errmsg);
    if (r < 0)
        hf_zk_config_finish(ret);
    assert(r < 0 || (ret->servers > 0 && ret->acl != NULL));
    return r;
}

static void wipe(char **secret)
{
    if (*secret != NULL)
        explicit_bzero(*secret, strlen(*secret));
    free(*secret);
    *secret = NULL;
}

void hf_zk_config_reread(struct hf_zk_config *config)
{
    char line[AUTH_MAX + 2] = "", *fresh;

    if (hf_param_reread_auth(config->auth_file, line, sizeof line) && is_identity(line) &&
        strcmp(line, config->auth) != 0 && (fresh = strdup(line)) != NULL) {
        wipe(&config->former);
        config->former = config->auth;
        config->auth = fresh;
    }
    explicit_bzero(line, sizeof line);
}

void hf_zk_config_finish(struct hf_zk_config *config)
{
    wipe(&config->auth);
    wipe(&config->former);
    free(config->auth_file);
    free(config->acl);
    config->auth_file = config->acl = NULL;
}
