/* param.c - see param.h. */
#include "store/param.h"

#include "base/fork.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST (3600 * HF_SEC)

int hf_param_complain(char *errmsg, const char *what, const char *value,
                      const char *advice)
{
    char shown[61];

    assert(advice[0] != '\0'); /* the message says what to write instead */
    snprintf(shown, sizeof shown, "%s", value);
    for (char *c = shown; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?'; /* a message is one line */
    snprintf(errmsg, HF_ERRMSG_MAX, "store URL: %s \"%s\"; %s", what, shown, advice);
    return HF_EINVAL;
}

int hf_param_time(const struct hf_config *config, const char *key, hf_time least,
                  hf_time *ret, char *errmsg)
{
    const char *text = hf_config_get(config, key);
    double      value = config->ttl_ms;
    char       *unit = "ms";
    char        what[80], advice[80], given[24];

    assert(least > 0 && least <= LONGEST && least % HF_MS == 0);
    if (text == NULL && config->ttl_ms * HF_MS < least)
        value = (double)least / HF_MS;
    if (text != NULL)
        value = strtod(text, &unit);
    if (text != NULL && strcmp(unit, "ms") != 0) {
        if (strcmp(unit, "s") != 0 && strcmp(unit, "") != 0) {
            snprintf(what, sizeof what, "%s is not a time:", key);
            snprintf(advice, sizeof advice, "write %s=30s or 5000ms", key);
            return hf_param_complain(errmsg, what, text, advice);
        }
        value *= 1000;
    }
    if (!(value * HF_MS >= (double)least && value * HF_MS <= (double)LONGEST)) {
        snprintf(what, sizeof what, "%s is out of range:", key);
        snprintf(advice, sizeof advice, "use %gs to 3600s", (double)least / HF_SEC);
        snprintf(given, sizeof given, "%dms", config->ttl_ms);
        return hf_param_complain(errmsg, what, text != NULL ? text : given, advice);
    }
    *ret = (hf_time)value * HF_MS;
    assert(*ret >= least && *ret <= LONGEST);
    return 0;
}

static int read_auth(const char *file, int flags, char *ret, size_t size, char *errmsg)
{
    struct stat stat;
    int         fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);

    assert(size > 1); /* the secret, and its NUL */
    if (fd < 0)
        return hf_param_complain(errmsg, "cannot read the auth file", file,
                                 strerror(errno));
    bool    shared = fstat(fd, &stat) < 0 || (stat.st_mode & 077) != 0;
    ssize_t got = shared ? 0 : read(fd, ret, size - 1);
    int     error = errno;
    close(fd);
    if (shared)
        return hf_param_complain(errmsg, "others can read the auth file", file,
                                 "chmod 600 it");
    if (got < 0)
        return hf_param_complain(errmsg, "cannot read the auth file", file,
                                 strerror(error));
    ret[got] = '\0';
    ret[strcspn(ret, "\r\n")] = '\0';
    return 0;
}

int hf_param_read_auth(const char *file, char *ret, size_t size, char *errmsg)
{
    return read_auth(file, 0, ret, size, errmsg);
}

/* The number of a descriptor, which had the password once, may be that of another file. */
static bool is_descriptor(const char *file)
{
    return strncmp(file, "/dev/", 5) == 0 || strncmp(file, "/proc/", 6) == 0;
}

/* Another pipe must not block. */
bool hf_param_reread_auth(const char *file, char *ret, size_t size)
{
    char errmsg[HF_ERRMSG_MAX];

    if (file == NULL || is_descriptor(file))
        return false;
    hf_low_take();
    int r = read_auth(file, O_NONBLOCK, ret, size, errmsg);
    hf_low_give();
    return r == 0;
}

int hf_param_history(const struct hf_config *config, int *ret, char *errmsg)
{
    const char *text = hf_config_get(config, "history");
    char       *end;

    *ret = -1;
    if (text == NULL)
        return 0;
    long value = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || value > HF_HISTORY_MAX)
        return hf_param_complain(errmsg, "history is out of range:", text,
                                 "use 1 to 100000, or 0 to turn it off");
    *ret = (int)value;
    return 0;
}
