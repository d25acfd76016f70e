/* watch_store.c - see watch_store.h. */
#include "watch_store.h"

#include "clients.h"

#include <stdio.h>
#include <string.h>

static void on_told(struct hf_req *req)
{
    struct watcher *watcher = req->data;

    watcher->answers++;
    watcher->count = req->changes;
    assert_true(req->changes <= WATCHER_NAMES);
    for (size_t i = 0; i < req->changes; i++)
        snprintf(watcher->name[i], sizeof watcher->name[i], "%s", req->changed[i]);
}

void watcher_start(struct watcher *watcher)
{
    watcher->req =
        (struct hf_req){ .op = HF_WATCH_STORE, .done = on_told, .data = watcher };
    watcher->answers = 0;
    watcher->player.store->impl->submit(watcher->player.store, &watcher->req);
}

bool watcher_await(struct watcher *watcher, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    while (watcher->answers == 0 && hf_now() < end)
        player_turn(&watcher->player, hf_poll_ms(hf_now(), end));
    assert_true(watcher->answers <= 1);
    return watcher->answers == 1;
}

void watcher_look(struct watcher *watcher)
{
    watcher_start(watcher);
    assert_true(watcher_await(watcher, LIMIT_MS));
    if (watcher->req.status != 0)
        fail_msg("%s", watcher->player.store->errmsg);
}

void watcher_cancel(struct watcher *watcher)
{
    watcher->player.store->impl->cancel(watcher->player.store, &watcher->req);
    assert_true(watcher_await(watcher, LIMIT_MS));
}

void watcher_open(struct watcher *watcher, const char *url)
{
    struct request all;

    *watcher = (struct watcher){ 0 };
    player_connect_url(&watcher->player, url);
    watcher_look(watcher);
    assert_int_equal(watcher->count, 0);
    assert_int_equal(list(&watcher->player, NULL, &all), 0);
}

void watcher_assert_told(struct watcher *watcher, const char *names)
{
    char left[256], wanted[80], *word;

    snprintf(left, sizeof left, " %s ", names);
    while (strspn(left, " ") < strlen(left)) {
        watcher_look(watcher);
        assert_true(watcher->count > 0);
        for (size_t i = 0; i < watcher->count; i++) {
            snprintf(wanted, sizeof wanted, " %s ", watcher->name[i]);
            if ((word = strstr(left, wanted)) != NULL)
                memset(word + 1, ' ', strlen(wanted) - 2);
        }
    }
}
