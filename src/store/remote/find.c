/* find.c - where the server is: the next one of the list, and its addresses in turn. */
#include "store/remote/dial.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>

/* ---- Servers ------------------------------------------------------------------ */

size_t hf_dial_next_server(const struct hf_dial *dial)
{
    assert(dial->next < dial->servers);
    return dial->next_address < dial->addresses ? dial->server : dial->order[dial->next];
}

void hf_dial_choose(struct hf_dial *dial)
{
    assert(dial->phase == HF_DIAL_RESOLVING && dial->next_address >= dial->addresses);
    dial->server = hf_dial_next_server(dial);
    dial->here = dial->list[dial->server];
    dial->next = (dial->next + 1) % dial->servers;
}

bool hf_dial_is_sought(const struct hf_dial *dial)
{
    return dial->phase == HF_DIAL_RESOLVING && dial->resolve == NULL;
}

/* A step begins.  If the caller gives up before we know more, this is the reason. */
static void begin_step(struct hf_dial *dial)
{
    hf_dial_limit(dial);
    if (dial->ops->is_link && dial->store->errmsg[0] == '\0')
        hf_dial_say(dial, "does not answer");
}

/* ---- Addresses ---------------------------------------------------------------- */

void hf_dial_end_look_up(struct hf_dial *dial)
{
    if (dial->resolve == NULL)
        return;
    hf_polled_end(&dial->polled, dial->store->fd);
    hf_resolve_free(dial->resolve);
    dial->resolve = NULL;
}

static void connect_to(struct hf_dial *dial, const struct hf_address *address)
{
    assert(dial->phase == HF_DIAL_RESOLVING && dial->resolve == NULL);
    assert(dial->polled.events == 0);
    dial->phase = HF_DIAL_CONNECTING;
    dial->at = address != NULL ? *address : (struct hf_address){ 0 };
    dial->opened++;
    dial->heard = 0;
    dial->more = false;
    begin_step(dial);
    if (dial->ops->connect != NULL)
        dial->ops->connect(dial, address);
    else
        hf_dial_stream_open(dial, address);
}

void hf_dial_connect_next(struct hf_dial *dial)
{
    assert(dial->next_address < dial->addresses);
    connect_to(dial, &dial->address[dial->next_address++]);
}

void hf_dial_connect(struct hf_dial *dial, const struct hf_address *address)
{
    assert(hf_dial_is_sought(dial) && dial->next_address >= dial->addresses);
    assert(address != NULL || dial->ops->connect != NULL);
    connect_to(dial, address);
}

void hf_dial_connect_path(struct hf_dial *dial, const char *path)
{
    struct hf_address   address = { .length = sizeof(struct sockaddr_un) };
    struct sockaddr_un *at = (struct sockaddr_un *)&address.at;

    assert(strlen(path) < sizeof at->sun_path); /* the store has checked it */
    at->sun_family = AF_UNIX;
    strcpy(at->sun_path, path);
    hf_dial_connect(dial, &address);
}

static bool same_address(const struct hf_address *a, const struct hf_address *b)
{
    return a->length == b->length && memcmp(&a->at, &b->at, a->length) == 0;
}

/* Go on behind the address that was tried last, or begin with that. */
static void turn_addresses(struct hf_dial *dial)
{
    struct hf_address all[HF_RESOLVE_MAX];
    int               first = 0, n = dial->addresses;

    for (int i = 0; i < n; i++)
        if (same_address(&dial->address[i], &dial->at))
            first = dial->stays ? i : i + 1;
    memcpy(all, dial->address, (size_t)n * sizeof *all);
    for (int i = 0; i < n; i++)
        dial->address[i] = all[(first + i) % n];
}

void hf_dial_take_addresses(struct hf_dial *dial)
{
    int n = hf_resolve_get(dial->resolve, dial->address, HF_RESOLVE_MAX);

    assert(dial->phase == HF_DIAL_RESOLVING && n <= HF_RESOLVE_MAX);
    if (n < 0) {
        char why[HF_ERRMSG_MAX];
        snprintf(why, sizeof why, "cannot be found: %.150s",
                 hf_resolve_error(dial->resolve));
        hf_dial_absent(dial, why);
    } else if (n > 0) {
        hf_dial_end_look_up(dial);
        dial->addresses = n;
        dial->next_address = 0;
        turn_addresses(dial);
        hf_dial_connect_next(dial);
    } else if (hf_polled_set(&dial->polled, dial->store->fd, hf_resolve_fd(dial->resolve),
                             EPOLLIN) < 0) {
        hf_dial_break(dial, "cannot be looked up: out of memory");
    }
}

void hf_dial_look_up(struct hf_dial *dial)
{
    assert(hf_dial_is_sought(dial));
    begin_step(dial);
    if (hf_resolve_new(dial->here.host, dial->here.port, &dial->resolve) < 0)
        hf_dial_break(dial, "cannot be looked up: out of memory");
    else
        hf_dial_take_addresses(dial);
}
