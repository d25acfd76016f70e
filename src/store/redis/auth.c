/* auth.c - user and password: from a file, the URL or the environment. */
#include "store/param.h"
#include "store/redis/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define AUTH_MAX 4096 /* some cloud services use tokens as passwords */
#define VARIABLE "HOLDFAST_REDIS_AUTH"

/* "user:password", ":password"; or "password" if `bare`. */
static int take_credentials(struct hf_redis_config *ret, const char *text, bool bare,
                            char *errmsg, const char *where)
{
    const char *colon = strchr(text, ':');
    const char *password = colon != NULL ? colon + 1 : bare ? text : "";
    size_t      length = colon != NULL ? (size_t)(colon - text) : 0;

    assert(ret->user == NULL && ret->password == NULL); /* only one source counts */
    if (password[0] == '\0')
        return hf_param_complain(
            errmsg, "no password in", where,
            "write user:password, or :password if there are no users");
    if (strlen(text) > AUTH_MAX)
        return hf_param_complain(errmsg, "password too long in", where,
                                 "at most 4096 bytes");
    ret->password = strdup(password);
    if (length > 0)
        ret->user = strndup(text, length);
    if (ret->password == NULL || (length > 0 && ret->user == NULL))
        return HF_ENOMEM;
    return 0;
}

/* The file wins over the URL, and the URL over the environment. */
int hf_redis_config_auth(struct hf_redis_config *ret, const struct hf_config *config,
                         char *errmsg)
{
    const char *file = hf_config_get(config, "auth");
    const char *variable = secure_getenv(VARIABLE);

    if (file != NULL) {
        char line[AUTH_MAX + 2] = "";
        if ((ret->auth = strdup(file)) == NULL)
            return HF_ENOMEM;
        int r = hf_param_read_auth(file, line, sizeof line, errmsg);
        if (r == 0)
            r = take_credentials(ret, line, true, errmsg, file);
        explicit_bzero(line, sizeof line);
        return r;
    }
    if (config->user != NULL)
        return take_credentials(ret, config->user, false, errmsg, "the URL");
    if (variable != NULL && variable[0] != '\0')
        return take_credentials(ret, variable, true, errmsg, VARIABLE);
    return 0;
}

void hf_redis_config_reread(struct hf_redis_config *config)
{
    struct hf_redis_config fresh = { 0 };
    char                   line[AUTH_MAX + 2] = "", errmsg[HF_ERRMSG_MAX];

    if (hf_param_reread_auth(config->auth, line, sizeof line) &&
        take_credentials(&fresh, line, true, errmsg, config->auth) == 0) {
        struct hf_redis_config former = { .user = config->user,
                                          .password = config->password };
        config->user = fresh.user;
        config->password = fresh.password;
        fresh = former;
    }
    hf_redis_config_finish(&fresh);
    explicit_bzero(line, sizeof line);
}
