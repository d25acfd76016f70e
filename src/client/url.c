/* url.c - see url.h. */
#include "client/url.h"

#include "base/home.h"
#include "holdfast.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undo %XX in place.  False for a broken escape or one that hides a NUL. */
static bool decode(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        int high = hex(from[1]);
        int low = high < 0 ? -1 : hex(from[2]);
        if (low < 0 || (high == 0 && low == 0))
            return false;
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return true;
}

/* Escape a path for a URL. */
static char *encode(const char *path)
{
    char *text = malloc(3 * strlen(path) + 1), *to = text;

    if (text == NULL)
        return NULL;
    while (path[0] == '/' && path[1] == '/') /* no host */
        path++;
    for (; *path != '\0'; path++)
        if (*path == '%' || *path == '?')
            to += sprintf(to, "%%%02X", (unsigned)*path);
        else
            *to++ = *path;
    *to = '\0';
    return text;
}

#define DEFAULT_SCHEME "sqlite:"

/* The URL of the default file, with its parameters. */
static int default_url(const char *params, char **ret, char *errmsg)
{
    char *state = hf_state_home();
    if (state == NULL && errno == ENOENT) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "HOME is not set, and user %lu has no home; name a store, as in "
                 "HOLDFAST_URL=sqlite:/path/to/locks.db",
                 (unsigned long)geteuid());
        return HF_EINVAL;
    }
    char *path = state != NULL ? encode(state) : NULL;
    if (path == NULL || asprintf(ret, "sqlite:%s/holdfast/locks.db%s", path, params) < 0)
        *ret = NULL;
    free(path);
    free(state);
    return 0;
}

#define SYSTEM_SCHEME "system" /* the file that all users of this machine share */

const char *hf_url_scheme(const char *scheme)
{
    return strcmp(scheme, SYSTEM_SCHEME) == 0 ? "sqlite" : scheme;
}

/* The URL of the system file, with its parameters. */
static int system_url(const char *params, char **ret, char *errmsg)
{
    if (params[0] != '\0' && params[0] != '?') {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "store URL: system: is one file, %s; write nothing after it, or "
                 "sqlite:/path/to/locks.db for another file",
                 HF_SYSTEM_FILE);
        return HF_EINVAL;
    }
    if (asprintf(ret, "sqlite:%s%s", HF_SYSTEM_FILE, params) < 0)
        *ret = NULL;
    return 0;
}

/* Two jobs on two machines, both with a variable that was never set, must not both run
 * under a lock of their own. */
static int explain_empty(const char *source, char *errmsg)
{
    snprintf(errmsg, HF_ERRMSG_MAX,
             "%s is empty: a variable or secret that it is made of may be missing; leave "
             "it out, or write sqlite:, for the file of this user",
             source);
    return HF_EINVAL;
}

/* 0 and *ret NULL: no memory. */
static int choose_url(const char *url, char **ret, char *errmsg)
{
    const char *source = "the store URL";

    if (url == NULL) {
        url = secure_getenv("HOLDFAST_URL");
        source = "HOLDFAST_URL";
    }
    if (url == NULL)
        url = DEFAULT_SCHEME;
    if (url[0] == '\0')
        return explain_empty(source, errmsg);
    const char *rest = url + strlen(DEFAULT_SCHEME);
    if (strncmp(url, DEFAULT_SCHEME, strlen(DEFAULT_SCHEME)) == 0 &&
        (rest[0] == '\0' || rest[0] == '?'))
        return default_url(rest, ret, errmsg);
    if (strncmp(url, SYSTEM_SCHEME ":", strlen(SYSTEM_SCHEME ":")) == 0)
        return system_url(url + strlen(SYSTEM_SCHEME ":"), ret, errmsg);
    *ret = strdup(url);
    return 0;
}

static int split_params(struct hf_url *url, char *text, char *errmsg)
{
    char *rest;

    for (char *part = strtok_r(text, "&", &rest); part != NULL;
         part = strtok_r(NULL, "&", &rest)) {
        char *value = strchr(part, '=');
        if (value == NULL || url->config.params == HF_URL_PARAMS) {
            /* Do not show it: it may be part of a password. */
            snprintf(errmsg, HF_ERRMSG_MAX,
                     "store URL: parameters must be written as ?key=value&key=value");
            return HF_EINVAL;
        }
        *value++ = '\0';
        if (!decode(part) || !decode(value)) {
            snprintf(errmsg, HF_ERRMSG_MAX,
                     "store URL: broken %%XX in a parameter; write %%25 for a %%");
            return HF_EINVAL;
        }
        url->param[url->config.params++] = (struct hf_param){ part, value };
    }
    return 0;
}

/* Split "//user:password@host": "user:password" moves to the front, and the rest starts
 * with "//" again.  Before %XX is decoded, since a password may contain any
 * character. */
static void split_user(struct hf_url *url, char *rest)
{
    if (strncmp(rest, "//", 2) != 0)
        return;
    char *at = memrchr(rest + 2, '@', strcspn(rest + 2, "/"));
    if (at == NULL)
        return;

    size_t length = (size_t)(at - rest) - 2;
    memmove(rest, rest + 2, length);
    rest[length] = '\0';
    rest[length + 1] = rest[length + 2] = '/';
    url->config.user = rest;
    url->config.rest = rest + length + 1;
}

static int explain_scheme(const struct hf_url *url, char *errmsg)
{
    const char *advice = "write for example sqlite:/path/to/locks.db";

    if (strchr(url->text, '@') != NULL) /* it may contain a password */
        snprintf(errmsg, HF_ERRMSG_MAX, "that is not a store URL; %s", advice);
    else
        snprintf(errmsg, HF_ERRMSG_MAX, "\"%.80s\" is not a store URL; %s", url->shown,
                 advice);
    return HF_EINVAL;
}

static int explain_dubious(const struct hf_url *url, char *errmsg)
{
    if (strstr(url->text, "://") == NULL)
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "store URL: there is no // in it; write %s://host", url->shown);
    else
        snprintf(
            errmsg, HF_ERRMSG_MAX,
            "store URL: only the @ before the servers may be written plainly; write %%40 "
            "for any other, and in a password %%2F for / and %%3F for ?");
    return HF_EINVAL;
}

static int split_url(struct hf_url *url, char *errmsg)
{
    size_t length = strspn(url->text, "abcdefghijklmnopqrstuvwxyz0123456789+");

    if (length == 0 || url->text[length] != ':')
        return explain_scheme(url, errmsg);
    if (hf_url_is_dubious(url->text))
        return explain_dubious(url, errmsg);
    url->text[length] = '\0';
    char *rest = url->text + length + 1;
    url->config.scheme = url->text;
    url->config.rest = rest;

    char *params = strchr(rest, '?');
    if (params != NULL)
        *params++ = '\0';
    split_user(url, rest);
    if (!decode((char *)url->config.rest) ||
        (url->config.user != NULL && !decode((char *)url->config.user))) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "store URL: broken %%XX in \"%.80s\"; write %%25 for a %%", url->shown);
        return HF_EINVAL;
    }
    return params != NULL ? split_params(url, params, errmsg) : 0;
}

int hf_url_parse(const char *text, struct hf_url *ret, char *errmsg)
{
    *ret = (struct hf_url){ 0 };
    int r = choose_url(text, &ret->text, errmsg);
    if (r < 0)
        return r;
    ret->size = ret->text != NULL ? strlen(ret->text) + 1 : 0;
    ret->given = ret->text != NULL ? strdup(ret->text) : NULL;
    ret->shown = ret->text != NULL ? hf_url_shown(ret->text) : NULL;

    r = HF_ENOMEM;
    if (ret->given == NULL || ret->shown == NULL) {
        snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
        goto fail;
    }
    r = split_url(ret, errmsg);
    if (r < 0)
        goto fail;
    ret->config.url = ret->shown;
    ret->config.given = ret->given;
    ret->config.param = ret->param;
    return 0;
fail:
    hf_url_finish(ret);
    return r;
}

void hf_url_finish(struct hf_url *url)
{
    if (url->text != NULL) /* it may contain a password */
        explicit_bzero(url->text, url->size);
    if (url->given != NULL)
        explicit_bzero(url->given, url->size);
    free(url->text);
    free(url->given);
    free(url->shown);
    *url = (struct hf_url){ 0 };
}
