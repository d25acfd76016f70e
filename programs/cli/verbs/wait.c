/* wait.c - wait: until nobody holds a lock, without joining its queue. */
#include "cli_options.h"

#include "clock.h"
#include "complain.h"
#include "run/messages.h"
#include "run/nested.h"
#include "run/take.h"
#include "session.h"

/* It waits in pieces, and checks the link between two of them. */
#define PIECE_MS 1000

/* No result yet; neither 0 nor an HF_E.... */
#define STILL_HELD 1

struct waiting {
    const struct args  *args;
    struct hf_client   *client;
    struct wait_message message;
    int64_t             give_up_at; /* with -w: when; CLOCK_BOOTTIME ns */
    struct hf_report   *seen;       /* the last report; NULL: there is none yet */
};

static bool time_is_over(const struct waiting *waiting)
{
    return waiting->args->wait_ms >= 0 && clock_boot_ns() >= waiting->give_up_at;
}

/* With -n it is 0: ask once. */
static int64_t piece_ms(const struct waiting *waiting)
{
    int     limit = clock_sooner(wait_message_timeout_ms(&waiting->message), PIECE_MS);
    int64_t piece = limit > 0 ? limit : 1;
    int64_t left = (waiting->give_up_at - clock_boot_ns()) / NS_PER_MS + 1;

    if (waiting->args->wait_ms == 0)
        return 0;
    return waiting->args->wait_ms > 0 && left < piece ? left : piece;
}

/* A run around us holds it until we have ended. */
static bool is_held_around(const struct hf_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct hf_entry *entry = report->entry[i];
        if (entry->held && held_place(entry->name, entry->token, entry->host, entry->pid))
            return true;
    }
    return false;
}

/* 0: it is free; HF_E...: why that is not known, or will not be; or STILL_HELD. */
static int judge_wait(struct waiting *waiting, int r)
{
    if (r < 0 && r != HF_ETIMEOUT && r != HF_EDOWN)
        return r;
    if (r == 0 && waiting->seen->count == 0) /* a line without a holder is empty */
        return 0;
    if (waiting->args->wait_ms == 0)
        return r == 0 ? HF_EBUSY : HF_EDOWN;
    if (r == 0 && is_held_around(waiting->seen))
        return HF_EDEADLOCK;
    if (time_is_over(waiting))
        return waiting->seen != NULL && store_message_why() == NULL ? HF_ETIMEOUT
                                                                    : HF_EDOWN;
    return STILL_HELD;
}

/* As judge_wait() has it in the end. */
static int wait_until_free(struct waiting *waiting)
{
    const char *name = waiting->args->operand[0];
    int         result;

    do {
        struct hf_report *report;
        int64_t           piece = piece_ms(waiting);
        int r = hf_watch(waiting->client, name, waiting->seen, piece, &report);
        if (r == 0) {
            hf_report_free(waiting->seen);
            waiting->seen = report;
        }
        hf_process(waiting->client);
        result = judge_wait(waiting, r);
        if (result == STILL_HELD && !waiting->message.terminal)
            store_message_show(NULL);
        if (result == STILL_HELD)
            wait_message_show_seen(&waiting->message, waiting->seen);
    } while (result == STILL_HELD);
    wait_message_clear(&waiting->message);
    return result;
}

static int conclude_wait(const struct waiting *waiting, int result)
{
    struct taking asked = { .args = waiting->args, .client = waiting->client };

    if (result == HF_EDEADLOCK) {
        complain(
            "\"%s\" is held by the `holdfast run` around this one, so the wait would "
            "never end; use -n",
            waiting->args->operand[0]);
        return EXIT_USAGE;
    }
    if (result != 0)
        return take_failed(&asked, result);
    wait_message_waited(&waiting->message);
    return 0;
}

int wait_main(const struct args *args)
{
    struct waiting waiting = { .args = args };

    int code = session_open(args, &waiting.client);
    if (code != 0)
        return code;
    wait_message_init(&waiting.message, waiting.client, args->operand[0], args->quiet);
    waiting.give_up_at = waiting.message.begin + args->wait_ms * NS_PER_MS;
    code = conclude_wait(&waiting, wait_until_free(&waiting));
    hf_report_free(waiting.seen);
    hf_close(waiting.client);
    return code;
}
