/* status.c - see status.h. */
#include "status.h"

#include "cli.h"
#include "clock.h"
#include "json.h"
#include "redact.h"
#include "session.h"
#include "sink.h"
#include "text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Smaller steps of a deadline are not worth a line; and milliseconds are rounded. */
#define LATER_NS   (100 * NS_PER_MS)
#define EARLIER_NS (2 * NS_PER_MS)

/* How long a reader has for the rest, when all else is done. */
#define REST_MS 5000

/* Texts are cut: a line must be one that a pipe takes as a whole, whatever is in it. */
#define NAME_CUT 256
#define TEXT_CUT 384
_Static_assert(TEXT_CLEAN_FACTOR *(NAME_CUT + TEXT_CUT) + 200 <= SINK_LINE_MAX,
               "a line with the longest texts must fit");

enum kind { SINGLE, PLACE, RENEWED }; /* of the latter two only the last is of interest */

static struct {
    bool        on;
    const char *name;
    struct sink sink;
    bool        waiting;
    bool        held;
    int64_t     deadline; /* as it was in the last turn, CLOCK_BOOTTIME ns */
    int64_t     told;     /* as the reader knows it */
} status;

int status_open(const struct args *args)
{
    if (args->status_fd == 0)
        return 0;
    if (sink_open(&status.sink, args->status_fd) < 0) {
        complain("--status-fd %d: no descriptor that is open for writing",
                 args->status_fd);
        return EXIT_USAGE;
    }
    status.on = true;
    status.name = args->operand[0];
    return 0;
}

int status_fd(void)
{
    return status.on && status.sink.fd > 0 ? status.sink.fd : 0;
}

/* ---- Lines ----------------------------------------------------------------- */

struct line {
    struct json json;
    char       *text;
    size_t      length;
};

/* At the end of a character. */
static void cut_text(char *out, size_t size, const char *text)
{
    size_t length = strlen(text);

    if (length >= size)
        for (length = size - 1; length > 0 && (text[length] & 0xc0) == 0x80; length--)
            continue;
    memcpy(out, text, length);
    out[length] = '\0';
}

static void put_text(struct line *line, const char *key, const char *text, size_t size)
{
    char cut[TEXT_CUT];

    assert(size <= sizeof cut);
    cut_text(cut, size, text);
    redact_text(cut); /* as in complain() */
    json_string(&line->json, key, cut);
}

static bool begin_line(struct line *line, const char *event)
{
    char time[TEXT_TIME_MAX];

    if (!status.on)
        return false;
    *line = (struct line){ 0 };
    line->json.out = open_memstream(&line->text, &line->length);
    if (line->json.out == NULL)
        return false;
    json_open(&line->json, NULL, '{');
    json_string(&line->json, "time", text_time(time, clock_wall_us()));
    json_string(&line->json, "event", event);
    put_text(line, "name", status.name, NAME_CUT);
    return true;
}

/* A reader that is gone has no need of it; anything else is a mistake, and told once. */
static void say_error(void)
{
    int error = status.sink.error;

    status.sink.error = 0;
    if (error != 0 && error != EPIPE && error != ECONNRESET)
        complain("what --status-fd tells cannot be written: %s: it is closed",
                 strerror(error));
}

static void end_line(struct line *line, enum kind kind)
{
    json_close(&line->json, '}');
    fputc('\n', line->json.out);
    if (fclose(line->json.out) != 0)
        free(line->text);
    else if (!sink_put(&status.sink, line->text, line->length, kind))
        complain("nobody reads what --status-fd tells: it is closed");
    say_error();
}

/* `deadline` for readers that come late, `left_ms` for those with another clock. */
static void put_deadline(struct line *line, struct hf_lock *lock)
{
    int64_t left = hf_left_ms(lock);
    char    time[TEXT_TIME_MAX];

    status.told = status.deadline;
    if (left == INT64_MAX) {
        json_null(&line->json, "left_ms");
        json_null(&line->json, "deadline");
    } else {
        json_number(&line->json, "left_ms", left);
        json_string(&line->json, "deadline",
                    text_time(time, clock_wall_us() + left * 1000));
    }
}

/* ---- Before it is held ------------------------------------------------------- */

void status_waiting(void)
{
    struct line line;

    assert(!status.held);
    status.waiting = true;
    if (begin_line(&line, "waiting"))
        end_line(&line, SINGLE);
}

void status_place(struct hf_lock *lock, int64_t ahead, void *data)
{
    struct line line;

    (void)lock, (void)data;
    if (!status.waiting || ahead < 0 || !begin_line(&line, "place"))
        return;
    json_number(&line.json, "ahead", ahead);
    end_line(&line, PLACE);
}

void status_failed(int why, const char *text)
{
    struct line line;

    assert(!status.held);
    status.waiting = false;
    if (!begin_line(&line, "failed"))
        return;
    json_string(&line.json, "error", hf_errname(why));
    put_text(&line, "text", text, TEXT_CUT);
    end_line(&line, SINGLE);
}

/* ---- While it is --------------------------------------------------------------- */

/* Somebody may have asked in the very turn in which it was granted. */
void status_held(struct hf_lock *lock)
{
    struct line line;
    char        reason[TEXT_CUT];

    assert(!status.held);
    status.waiting = false;
    status.held = true;
    status.deadline = session_deadline(lock);
    if (!begin_line(&line, "held"))
        return;
    json_token(&line.json, "token", hf_token(lock));
    if (hf_slot(lock) < 0)
        json_null(&line.json, "slot");
    else
        json_number(&line.json, "slot", hf_slot(lock));
    put_deadline(&line, lock);
    end_line(&line, SINGLE);
    if (hf_asked(lock, reason, sizeof reason))
        status_asked(reason);
}

void status_asked(const char *reason)
{
    struct line line;

    if (!status.held || !begin_line(&line, "asked"))
        return;
    put_text(&line, "reason", reason, TEXT_CUT);
    end_line(&line, SINGLE);
}

static void tell_renewed(struct hf_lock *lock)
{
    struct line line;

    status.deadline = session_deadline(lock);
    int64_t step = status.deadline - status.told;
    if (step < LATER_NS && step > -EARLIER_NS)
        return;
    if (!begin_line(&line, "renewed"))
        return;
    put_deadline(&line, lock);
    end_line(&line, RENEWED);
}

/* The store says that it is gone, or did not say anything in time. */
void status_lost(void)
{
    bool        expired = clock_boot_ns() >= status.deadline;
    struct line line;

    if (!status.held)
        return;
    status.held = false;
    if (!begin_line(&line, "lost"))
        return;
    json_string(&line.json, "why", expired ? "expired" : "gone");
    end_line(&line, SINGLE);
}

void status_released(int result)
{
    struct line line;

    if (result == HF_ELOST)
        status_lost();
    if (!status.held)
        return;
    status.held = false;
    if (!begin_line(&line, "released"))
        return;
    if (result < 0)
        json_string(&line.json, "error", hf_errname(result));
    else
        json_null(&line.json, "error");
    end_line(&line, SINGLE);
}

/* ---- The loops around ------------------------------------------------------------ */

struct pollfd status_poll(void)
{
    return status.on ? sink_poll(&status.sink) : (struct pollfd){ .fd = -1 };
}

void status_turn(struct hf_lock *lock)
{
    if (!status.on)
        return;
    sink_flush(&status.sink);
    say_error();
    if (status.held && lock != NULL && hf_state(lock) == HF_HELD)
        tell_renewed(lock);
}

void status_finish(void)
{
    if (!status.on)
        return;
    if (!sink_drain(&status.sink, REST_MS))
        complain("nobody reads what --status-fd tells: the rest is left out");
    say_error();
    sink_close(&status.sink);
    status.on = false;
}
