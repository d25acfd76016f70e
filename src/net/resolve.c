/* resolve.c - see resolve.h.
 *
 * The answer belongs to the thread that runs getaddrinfo(3) until that returns, and
 * then to the owner of the look-up: see aside.h.
 */
#include "net/resolve.h"

#include "holdfast.h"
#include "net/aside.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The question and its answer. */
struct answer {
    struct hf_address address[HF_RESOLVE_MAX];
    int               count;
    char              error[200];
    char             *host, *port;
};

struct hf_resolve {
    struct answer   *answer;
    struct hf_aside *aside; /* NULL: done at once */
};

/* ---- The look-up itself ------------------------------------------------------- */

static void complain(struct answer *answer, const char *why)
{
    snprintf(answer->error, sizeof answer->error, "%s", why);
}

/* 0 or an error of getaddrinfo(). */
static int look_up(struct answer *answer, int flags)
{
    const struct addrinfo hints = { .ai_flags = flags | AI_NUMERICSERV,
                                    .ai_socktype = SOCK_STREAM };
    struct addrinfo      *found = NULL;
    int                   r = getaddrinfo(answer->host, answer->port, &hints, &found);

    if (r != 0) {
        complain(answer, r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
        return r;
    }
    for (struct addrinfo *info = found; info != NULL; info = info->ai_next) {
        struct hf_address *address = &answer->address[answer->count];

        if (answer->count == HF_RESOLVE_MAX || info->ai_addrlen > sizeof address->at)
            continue;
        memcpy(&address->at, info->ai_addr, info->ai_addrlen);
        address->length = info->ai_addrlen;
        answer->count++;
    }
    freeaddrinfo(found);
    answer->error[0] = '\0';
    return 0;
}

static void drop(void *data)
{
    struct answer *answer = data;

    free(answer->host);
    free(answer->port);
    free(answer);
}

static void run(void *data)
{
    look_up(data, 0);
}

static const struct hf_aside_work work = { "holdfast-lookup", run, drop };

/* ---- For its owner ------------------------------------------------------------ */

static struct answer *answer_new(const char *host, const char *port)
{
    struct answer *answer = calloc(1, sizeof *answer);

    if (answer == NULL)
        return NULL;
    answer->host = strdup(host);
    answer->port = strdup(port);
    if (answer->host != NULL && answer->port != NULL)
        return answer;
    drop(answer);
    return NULL;
}

int hf_resolve_new(const char *host, const char *port, struct hf_resolve **ret)
{
    struct hf_resolve *resolve = malloc(sizeof *resolve);
    int                r;

    if (resolve == NULL)
        return HF_ENOMEM;
    *resolve = (struct hf_resolve){ .answer = answer_new(host, port) };
    if (resolve->answer == NULL) {
        free(resolve);
        return HF_ENOMEM;
    }
    if (look_up(resolve->answer, AI_NUMERICHOST) == EAI_NONAME &&
        (r = hf_aside_new(&work, resolve->answer, &resolve->aside)) != 0)
        complain(resolve->answer, strerror(r));
    *ret = resolve;
    return 0;
}

int hf_resolve_fd(const struct hf_resolve *resolve)
{
    return resolve->aside != NULL ? hf_aside_fd(resolve->aside) : -1;
}

static bool is_done(const struct hf_resolve *resolve)
{
    return resolve->aside == NULL || hf_aside_done(resolve->aside);
}

int hf_resolve_get(struct hf_resolve *resolve, struct hf_address *ret, int max)
{
    const struct answer *answer = resolve->answer;
    int                  count;

    assert(max > 0);
    if (!is_done(resolve))
        return 0;
    if (answer->count == 0)
        return HF_EDOWN;
    count = answer->count < max ? answer->count : max;
    memcpy(ret, answer->address, (size_t)count * sizeof *ret);
    return count;
}

const char *hf_resolve_error(const struct hf_resolve *resolve)
{
    return is_done(resolve) ? resolve->answer->error : "";
}

void hf_resolve_free(struct hf_resolve *resolve)
{
    if (resolve == NULL)
        return;
    if (resolve->aside != NULL)
        hf_aside_free(resolve->aside);
    else
        drop(resolve->answer);
    free(resolve);
}

bool hf_address_is_local(const struct sockaddr_storage *at)
{
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)at)->sin6_addr;

    switch (at->ss_family) {
    case AF_UNIX:
        return true;
    case AF_INET:
        return ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 == 127;
    case AF_INET6:
        return IN6_IS_ADDR_LOOPBACK(v6) ||
               (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
    default:
        return false;
    }
}
