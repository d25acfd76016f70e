/* live.c - see live.h. */
#include "live.h"

#include "act.h"
#include "clock.h"
#include "draw.h"
#include "signals.h"
#include "terminal.h"
#include "top.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct live {
    struct monitor *monitor;
    struct top      top;
    struct page     page;
    struct snapshot snapshot;
    bool            paused;
    int64_t         paused_at;
    bool            stale;   /* the screen must be redrawn */
    int64_t         tick_ns; /* when an age on the screen changes; INT64_MAX: never */
    bool            over;
};

static int signal_fd = -1;
static int ended_by; /* a signal; 0: none */

int live_prepare(void)
{
    signal_fd = signals_open();
    return signal_fd;
}

void live_end(void)
{
    if (ended_by != 0)
        signals_die(ended_by);
}

/* ---- Drawing ------------------------------------------------------------------------ */

/* Call this after every change of the locks and before the rows are used: the rows point to them. */
static void update(struct live *live)
{
    snapshot_take(&live->snapshot, live->monitor,
                  live->paused ? live->paused_at : clock_wall_us());
    live->snapshot.paused = live->paused;
    top_update(&live->top, &live->snapshot);
}

static void draw(struct live *live)
{
    size_t width, height;

    update(live);
    terminal_size(&width, &height);
    int64_t ms = draw_screen(&live->page, &live->top, &live->snapshot, width, height);
    terminal_draw(&live->page);
    live->tick_ns = ms < 0 ? INT64_MAX : clock_boot_ns() + ms * NS_PER_MS;
    live->stale = false;
}

static int until_tick_ms(const struct live *live)
{
    if (live->tick_ns == INT64_MAX)
        return -1;
    int64_t ms = (live->tick_ns - clock_boot_ns()) / NS_PER_MS + 1;
    return ms < 0 ? 0 : ms < 3600 * 1000 ? (int)ms : 3600 * 1000;
}

/* ---- Keys --------------------------------------------------------------------------- */

static void toggle_pause(struct live *live)
{
    if (!live->paused) {
        live->paused_at = clock_wall_us();
        monitor_suspend(live->monitor);
        live->paused = true;
    } else if (monitor_resume(live->monitor) == 0) {
        live->paused = false;
    } else {
        top_message(&live->top, true, "%s", hf_errmsg(live->monitor->client));
    }
}

static void run_action(struct live *live, enum top_action action)
{
    switch (action) {
    case TOP_ASK:
        act_ask(live->monitor, &live->top);
        break;
    case TOP_BREAK:
        act_break(live->monitor, &live->top);
        break;
    case TOP_PAUSE:
        toggle_pause(live);
        break;
    case TOP_REDRAW:
        terminal_redraw();
        break;
    case TOP_QUIT:
        live->over = true;
        break;
    case TOP_NOTHING:
        break;
    }
    if (action != TOP_NOTHING)
        update(live); /* the action may have changed the locks */
}

static void take_keys(struct live *live)
{
    uint32_t key;

    while (!live->over && terminal_key(&key)) {
        if (!live->stale)
            update(live);
        live->stale = true;
        run_action(live, top_key(&live->top, &live->snapshot, key));
    }
}

/* ---- Signals ------------------------------------------------------------------------ */

static void take_signals(struct live *live)
{
    int number;

    while (!live->over && (number = signals_read(signal_fd)) != 0) {
        live->stale = true;
        switch (number) {
        case SIGWINCH:
            terminal_resized();
            break;
        case SIGCONT:
            terminal_redraw();
            terminal_resized();
            break;
        case SIGTSTP:
            terminal_suspend();
            signals_stop();
            break;
        default:
            ended_by = number;
            live->over = true;
            break;
        }
    }
}

/* ---- The loop ----------------------------------------------------------------------- */

static void run_once(struct live *live)
{
    struct pollfd fd[] = {
        { .fd = terminal_fd(), .events = POLLIN },
        { .fd = signal_fd, .events = POLLIN },
        { .fd = monitor_fd(live->monitor), .events = POLLIN },
    };

    if (live->stale)
        draw(live);
    (void)poll(fd, 3,
               clock_sooner(monitor_timeout_ms(live->monitor), until_tick_ms(live)));
    take_signals(live);
    if (monitor_process(live->monitor)) {
        update(live);
        locks_trim(&live->monitor->locks);
        live->stale = true;
    }
    if (clock_boot_ns() >= live->tick_ns)
        live->stale = true;
    if ((fd[0].revents & POLLIN) != 0)
        take_keys(live);
    else if ((fd[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
        live->over = true; /* the terminal is gone */
}

int live_show(struct monitor *monitor, const char *pattern, char *error, size_t size)
{
    struct live live = { .monitor = monitor, .stale = true };

    if (!terminal_open(error, size))
        return -1;
    if (pattern != NULL)
        rows_filter(&live.top.rows, pattern, false);
    while (!live.over)
        run_once(&live);
    terminal_close();
    page_finish(&live.page);
    top_finish(&live.top);
    return 0;
}
