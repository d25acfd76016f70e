/* eye.c - see eye.h. */
#include "eye.h"

#include <stdio.h>
#include <string.h>

void eye_player(struct player *player, const char *url)
{
    struct ask nothing;

    promise_use(url);
    player_open(player);
    list(player, "nothing", &nothing); /* connected */
}

static void on_told(struct hf_req *req)
{
    struct eye *eye = req->data;

    eye->answers++;
    eye->count = req->changes;
    assert_true(req->changes <= EYE_NAMES);
    for (size_t i = 0; i < req->changes; i++)
        snprintf(eye->name[i], sizeof eye->name[i], "%s", req->changed[i]);
}

void eye_start(struct eye *eye)
{
    eye->req = (struct hf_req){ .op = HF_SURVEY, .done = on_told, .data = eye };
    eye->answers = 0;
    eye->player.store->impl->submit(eye->player.store, &eye->req);
}

bool eye_await(struct eye *eye, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    while (eye->answers == 0 && hf_now() < end)
        player_turn(&eye->player, hf_poll_ms(hf_now(), end));
    assert_true(eye->answers <= 1);
    return eye->answers == 1;
}

void eye_look(struct eye *eye)
{
    eye_start(eye);
    assert_true(eye_await(eye, LIMIT_MS));
    if (eye->req.status != 0)
        fail_msg("%s", eye->player.store->errmsg);
}

void eye_cancel(struct eye *eye)
{
    eye->player.store->impl->cancel(eye->player.store, &eye->req);
    assert_true(eye_await(eye, LIMIT_MS));
}

void eye_open(struct eye *eye, const char *url)
{
    struct ask all;

    *eye = (struct eye){ 0 };
    eye_player(&eye->player, url);
    eye_look(eye);
    assert_int_equal(eye->count, 0);
    assert_int_equal(list(&eye->player, NULL, &all), 0);
}

void eye_assert_told(struct eye *eye, const char *names)
{
    char left[256], wanted[80], *word;

    snprintf(left, sizeof left, " %s ", names);
    while (strspn(left, " ") < strlen(left)) {
        eye_look(eye);
        assert_true(eye->count > 0);
        for (size_t i = 0; i < eye->count; i++) {
            snprintf(wanted, sizeof wanted, " %s ", eye->name[i]);
            if ((word = strstr(left, wanted)) != NULL)
                memset(word + 1, ' ', strlen(wanted) - 2);
        }
    }
}
