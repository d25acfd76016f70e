/* status.c - see status.h. */
#include "run/status.h"

#include "clock.h"
#include "complain.h"
#include "json.h"
#include "run/event_line.h"
#include "run/line_writer.h"
#include "session.h"
#include "text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Smaller steps of a deadline are not worth a line; and milliseconds are rounded. */
#define LATER_NS   (100 * NS_PER_MS)
#define EARLIER_NS (2 * NS_PER_MS)

/* How long a reader has for the last lines, when all else is done. */
#define REST_MS 5000

/* Texts are cut, so that a pipe takes every line as a whole. */
_Static_assert(TEXT_CLEAN_FACTOR *(EVENT_NAME_CUT + EVENT_TEXT_CUT) + 200 <=
                   WRITER_LINE_MAX,
               "a line with the longest texts must fit");

enum kind {
    SINGLE,
    PLACE,
    RENEWED
}; /* a later PLACE or RENEWED replaces an unread one */

static struct {
    bool               on;
    const char        *name;
    struct line_writer writer;
    bool               waiting;
    bool               held;
    int64_t            deadline; /* at the last turn, CLOCK_BOOTTIME ns */
    int64_t            told;     /* as the reader knows it */
} status;

int status_open(const struct args *args)
{
    if (args->status_fd == 0)
        return 0;
    if (writer_open(&status.writer, args->status_fd) < 0) {
        complain("--status-fd %d: this descriptor is not open for writing",
                 args->status_fd);
        return EXIT_USAGE;
    }
    status.on = true;
    status.name = args->operand[0];
    return 0;
}

int status_fd(void)
{
    return status.on && status.writer.fd > 0 ? status.writer.fd : 0;
}

/* ---- Lines ----------------------------------------------------------------- */

static bool begin_line(struct event_line *line, const char *event)
{
    if (!status.on || !event_begin(line, event))
        return false;
    event_put_text(line, "name", status.name, EVENT_NAME_CUT);
    return true;
}

/* A reader that is gone needs no message; any other error is reported once. */
static void say_error(void)
{
    int error = status.writer.error;

    status.writer.error = 0;
    if (error != 0 && error != EPIPE && error != ECONNRESET)
        complain("--status-fd: cannot write: %s; closed it", strerror(error));
}

static void end_line(struct event_line *line, enum kind kind)
{
    if (event_end(line) && !writer_put(&status.writer, line->text, line->length, kind))
        complain("--status-fd: nobody reads it; closed it");
    say_error();
}

static void put_deadline(struct event_line *line, struct hf_lock *lock)
{
    status.told = status.deadline;
    event_put_deadline(line, hf_left_ms(lock));
}

/* ---- Before it is held ------------------------------------------------------- */

void status_waiting(void)
{
    struct event_line line;

    assert(!status.held);
    status.waiting = true;
    if (begin_line(&line, "waiting"))
        end_line(&line, SINGLE);
}

void status_place(struct hf_lock *lock, int64_t ahead, void *data)
{
    struct event_line line;

    (void)lock, (void)data;
    if (!status.waiting || ahead < 0 || !begin_line(&line, "place"))
        return;
    json_number(&line.json, "ahead", ahead);
    end_line(&line, PLACE);
}

void status_failed(int why, const char *text)
{
    struct event_line line;

    assert(!status.held);
    status.waiting = false;
    if (!begin_line(&line, "failed"))
        return;
    json_string(&line.json, "error", hf_errname(why));
    event_put_text(&line, "text", text, EVENT_TEXT_CUT);
    end_line(&line, SINGLE);
}

/* ---- While it is --------------------------------------------------------------- */

/* Somebody may have asked in the same turn in which it was granted. */
void status_held(struct hf_lock *lock)
{
    struct event_line line;
    char              reason[EVENT_TEXT_CUT];

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
    struct event_line line;

    if (!status.held || !begin_line(&line, "asked"))
        return;
    event_put_text(&line, "reason", reason, EVENT_TEXT_CUT);
    end_line(&line, SINGLE);
}

static void tell_renewed(struct hf_lock *lock)
{
    struct event_line line;

    status.deadline = session_deadline(lock);
    int64_t step = status.deadline - status.told;
    if (step < LATER_NS && step > -EARLIER_NS)
        return;
    if (!begin_line(&line, "renewed"))
        return;
    put_deadline(&line, lock);
    end_line(&line, RENEWED);
}

/* The store says that the lock is gone, or did not answer in time. */
void status_lost(void)
{
    bool              expired = clock_boot_ns() >= status.deadline;
    struct event_line line;

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
    struct event_line line;

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
    return status.on ? writer_poll(&status.writer) : (struct pollfd){ .fd = -1 };
}

void status_turn(struct hf_lock *lock)
{
    if (!status.on)
        return;
    writer_flush(&status.writer);
    say_error();
    if (status.held && lock != NULL && hf_state(lock) == HF_HELD)
        tell_renewed(lock);
}

void status_finish(void)
{
    if (!status.on)
        return;
    if (!writer_drain(&status.writer, REST_MS))
        complain("--status-fd: nobody reads it; dropped the last lines");
    say_error();
    writer_close(&status.writer);
    status.on = false;
}
