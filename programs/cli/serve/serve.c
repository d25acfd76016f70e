/* serve.c - serve: one process for all locks of a program; see serve.h. */
#include "serve/serve.h"

#include "cli_options.h"
#include "clock.h"
#include "complain.h"
#include "proc.h"
#include "redact.h"
#include "run/messages.h"
#include "session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Smaller steps of the deadline are not worth a line. */
#define LATER_NS   (100 * NS_PER_MS)
#define EARLIER_NS (2 * NS_PER_MS)

/* At the end: how long the store may take, if a question keeps us from closing the
 * session; and how long the program may take to read the last lines. */
#define LEAVE_NS (1 * NS_PER_SEC)
#define REST_MS  5000

/* ---- The session --------------------------------------------------------------------- */

static void on_trace(const char *text, void *data)
{
    (void)data;
    complain("%s", text);
}

static void on_session_key(const void *key, size_t size, void *data)
{
    struct serve *serve = data;

    pthread_mutex_lock(&serve->key_mutex);
    guard_key_set(&serve->key, key, size);
    pthread_mutex_unlock(&serve->key_mutex);
}

/* The program that we serve, as others see it in a list. */
struct shown {
    char bytes[2048];
    char to_owner[512];
    char to_all[256];
};

static void show_program(struct shown *shown)
{
    char *argv[64];
    char  path[40];
    int   argc = 0;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)getppid());
    FILE  *file = proc_is_ours() ? fopen(path, "re") : NULL;
    size_t size =
        file != NULL ? fread(shown->bytes, 1, sizeof shown->bytes - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    shown->bytes[size] = '\0';
    for (size_t at = 0; at < size && argc < 63; at += strlen(shown->bytes + at) + 1)
        argv[argc++] = shown->bytes + at;
    argv[argc] = NULL;
    snprintf(shown->to_owner, sizeof shown->to_owner, "holdfast serve");
    if (argc > 0)
        redact_urls(shown->to_owner, sizeof shown->to_owner, argv);
    snprintf(shown->to_all, sizeof shown->to_all, "%s",
             argc > 0 ? redact_program(argv) : "holdfast serve");
}

static int open_session(struct serve *serve, const struct args *args, bool guarded)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct shown      shown;
    char              error[512] = "";

    show_program(&shown);
    options.flags = HF_NO_KEEPER;
    options.command = shown.to_owner;
    options.public_command = shown.to_all;
    options.note = args->note;
    options.on_state = lock_on_state;
    options.on_ask = lock_on_ask;
    options.on_place = lock_on_place;
    options.on_link = store_message_on_link;
    options.on_trace = args->verbose ? on_trace : NULL;
    options.on_session_key = guarded ? on_session_key : NULL;
    options.data = serve;
    options.error = error;
    options.error_size = sizeof error;
    store_message_start(args->quiet, false);

    const char *withheld = session_withheld(args);
    int r = withheld != NULL ? HF_EINVAL : hf_open(args->url, &options, &serve->client);
    if (r < 0) {
        const char *text = withheld != NULL   ? withheld
                           : error[0] != '\0' ? error
                                              : hf_strerror(r);
        complain("%s", text);
        answer_failed(serve, 0, r, text);
    }
    return r < 0 ? exit_for(r) : 0;
}

/* ---- One round ------------------------------------------------------------------------- */

/* The guardian is told before the program: out_flush() comes later. */
static void tell_guardian(struct serve *serve)
{
    if (serve->guardian.guard.link < 0)
        return;
    pthread_mutex_lock(&serve->key_mutex);
    guard_key_send(&serve->key);
    session_guardian_tell_deadline(&serve->guardian,
                                   serve->held > 0 ? serve->deadline : 0);
    pthread_mutex_unlock(&serve->key_mutex);
}

static void tell_deadline(struct serve *serve)
{
    const struct serve_lock *held = lock_any_held(serve);

    if (held == NULL)
        return;
    /* If it was lost just now, on_state is yet to say so. */
    if (hf_state(held->handle) == HF_HELD)
        serve->deadline = session_deadline(held->handle);
    int64_t step = serve->deadline - serve->told;
    if (step < LATER_NS && step > -EARLIER_NS)
        return;
    serve->told = serve->deadline;
    answer_renewed(serve);
}

static void answer_questions(struct serve *serve)
{
    struct question *question;

    while ((question = questions_done(&serve->questions)) != NULL) {
        if (!answer_question(serve, question))
            return;
        if (question->lock != NULL)
            lock_answered(serve, question->lock);
        questions_drop(&serve->questions);
    }
}

static void wait_and_read(struct serve *serve, int timeout_ms)
{
    struct pollfd on[] = {
        { .fd = hf_fd(serve->client), .events = POLLIN },
        { .fd = serve->questions.fd, .events = POLLIN },
        out_poll(&serve->out),
        input_poll(serve),
    };

    timeout_ms = clock_sooner(timeout_ms, store_message_timeout_ms());
    poll(on, 4, clock_sooner(timeout_ms, hf_timeout_ms(serve->client)));
    serve->out.broken |= (on[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    input_read(serve, on[3].revents);
}

static void serve_program(struct serve *serve)
{
    int timeout_ms = -1;

    while (!serve->ended && !serve->out.broken) {
        wait_and_read(serve, timeout_ms);
        lock_expire(serve); /* first: at the deadline the library says HF_ELOST */
        hf_process(serve->client);
        timeout_ms = lock_expire(serve);
        tell_deadline(serve);
        answer_questions(serve);
        const struct serve_lock *held = lock_any_held(serve);
        store_message_show(held != NULL ? held->handle : NULL);
        tell_guardian(serve);
        out_flush(&serve->out);
    }
    serve->ended = true;
}

/* ---- Beginning and end ------------------------------------------------------------------- */

/* A question holds us up for some seconds if the store does not answer it.  The locks
 * must not wait for that. */
static void give_up(struct serve *serve)
{
    int64_t until = clock_boot_ns() + LEAVE_NS;

    if (serve->questions.count > 0) {
        lock_give_up_all(serve);
        while (serve->locks != NULL && clock_boot_ns() < until &&
               hf_state(serve->locks->handle) != HF_IDLE) {
            struct pollfd on = { .fd = hf_fd(serve->client), .events = POLLIN };
            poll(&on, 1, clock_sooner(hf_timeout_ms(serve->client), 100));
            hf_process(serve->client);
        }
    }
    questions_finish(&serve->questions);
    lock_forget_all(serve);
}

static int open_and_serve(struct serve *serve, const struct args *args, int fork_error)
{
    int fd;
    int code = open_session(serve, args, serve->guardian.guard.link >= 0);

    if (code != 0)
        return code;
    if (hf_lifeline(serve->client, &fd, 1) > 0)
        guard_finish(&serve->guardian.guard); /* in a file the kernel sees who is dead */
    else if (fork_error != 0 && !args->quiet)
        complain("cannot start the session guardian (%s): if this process is killed, "
                 "others wait until the lease is over",
                 strerror(fork_error));
    int error = questions_init(&serve->questions, serve->client);
    if (error != 0) {
        errno = error;
        code = complain_errno("eventfd");
    } else {
        answer_hello(serve);
        out_flush(&serve->out);
        serve_program(serve);
        give_up(serve);
    }
    hf_close(serve->client);
    return code;
}

/* A terminal sends SIGINT to the program and to us, and systemd SIGTERM.  The program may
 * need its locks while it cleans up; when it ends, so does stdin. */
static void ignore_signals(void)
{
    static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
}

int serve_main(const struct args *args)
{
    static struct serve serve = { .key = { .guard = &serve.guardian.guard },
                                  .key_mutex = PTHREAD_MUTEX_INITIALIZER };

    if (out_open(&serve.out, STDOUT_FILENO) < 0) {
        complain("serve: stdout is not open for writing");
        return EXIT_USAGE;
    }
    ignore_signals();
    session_load(args);
    int fork_error = session_guardian_start(&serve.guardian) < 0 ? errno : 0;
    int code = open_and_serve(&serve, args, fork_error);
    guard_finish(&serve.guardian.guard);
    guard_key_forget(&serve.key);
    out_drain(&serve.out, REST_MS);
    out_close(&serve.out);
    return code;
}
