/* peer.c - a process that uses Holdfast's locks, driven by the interop tests.
 *
 *     peer MODE URL NAME [ARGUMENT...]
 *
 * The modes are those of CuratorPeer.java: turns, rw, hold, holdread, holdwrite, try,
 * tryread, trywrite.  And:
 *
 *     downgrade    hold as writer; as reader from the first line of stdin on
 *
 * A holder prints "asked" when somebody asks for the lock.  Without arguments the
 * program tests itself, on the memory store.
 */
#include "holdfast.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DIGITS 20 /* of a number in a file, with its newline */

static void must(bool ok, const char *what, const char *why)
{
    if (ok)
        return;
    fprintf(stderr, "peer: %s: %s\n", what, why);
    exit(2);
}

static void check(int r, const char *what, struct hf_client *client)
{
    must(r >= 0, what, client != NULL ? hf_errmsg(client) : hf_strerror(r));
}

static void say(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
}

static bool stdin_line(void)
{
    int c;

    while ((c = getchar()) != EOF && c != '\n')
        ;
    return c != EOF;
}

static void start(void)
{
    say("ready");
    must(stdin_line(), "stdin", "ended before the start");
}

static void nap(unsigned *seed)
{
    struct timespec t = { .tv_nsec = (long)(rand_r(seed) % 1000) * 1000 };

    nanosleep(&t, NULL);
}

/* ---- Numbers in a file, which has no lock of its own -------------------------------- */

static int open_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    must(fd >= 0, path, "cannot be opened");
    return fd;
}

static long get(int fd, off_t at)
{
    char text[DIGITS + 1] = "";

    must(pread(fd, text, DIGITS, at) == DIGITS, "file", "too short");
    return strtol(text, NULL, 10);
}

static void put(int fd, off_t at, long value)
{
    char text[32];

    snprintf(text, sizeof text, "%019ld\n", value);
    must(pwrite(fd, text, DIGITS, at) == DIGITS, "file", "cannot be written");
}

/* ---- Modes -------------------------------------------------------------------------- */

static long turns(struct hf_client *client, struct hf_lock *lock, long total, int fd)
{
    unsigned seed = (unsigned)getpid();
    long     mine = 0;

    for (bool more = true; more; mine += more) {
        check(hf_acquire(lock, -1), "acquire", client);
        long value = get(fd, 0);
        more = value < total;
        if (more) {
            nap(&seed);
            put(fd, 0, value + 1);
        }
        check(hf_release(lock), "release", client);
    }
    return mine;
}

static void rw(struct hf_client *client, const char *name, long rounds, int fd,
               int percent)
{
    struct hf_lock *reader, *writer;
    unsigned        seed = (unsigned)getpid();
    long            writes = 0;

    check(hf_reader(client, name, &reader), "reader", client);
    check(hf_writer(client, name, &writer), "writer", client);
    for (long i = 0; i < rounds; i++) {
        bool            write = rand_r(&seed) % 100 < percent;
        struct hf_lock *side = write ? writer : reader;

        check(hf_acquire(side, -1), "acquire", client);
        long first = get(fd, 0);
        if (write)
            put(fd, 0, first + 1);
        nap(&seed);
        if (get(fd, DIGITS) != first)
            say("torn");
        if (write)
            put(fd, DIGITS, first + 1);
        check(hf_release(side), "release", client);
        writes += write;
    }
    printf("writes %ld\n", writes);
}

static void hold(struct hf_client *client, struct hf_lock *lock, bool downgrade)
{
    check(hf_acquire(lock, -1), "acquire", client);
    say("held");
    if (downgrade && stdin_line()) {
        check(hf_downgrade(lock), "downgrade", client);
        say("downgraded");
    }
    while (stdin_line())
        ;
    check(hf_release(lock), "release", client);
    say("released");
}

static int attempt(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_report *report;

    /* A try does not wait for the connection either. */
    check(hf_inspect(client, hf_name(lock), 10000, &report), "inspect", client);
    hf_report_free(report);
    int r = hf_acquire(lock, 0);
    if (r == HF_EBUSY)
        return 1;
    check(r, "acquire", client);
    check(hf_release(lock), "release", client);
    return 0;
}

static void on_ask(struct hf_lock *lock, const char *reason, void *data)
{
    (void)lock, (void)reason, (void)data;
    say("asked");
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), tail = strlen(end);

    return size >= tail && strcmp(text + size - tail, end) == 0;
}

static int play(struct hf_client *client, int argc, char **argv)
{
    const char     *mode = argv[1], *name = argv[3];
    bool            reads = ends_with(mode, "read");
    bool            writes = ends_with(mode, "write") || strcmp(mode, "downgrade") == 0;
    struct hf_lock *lock;
    int             status = 0;

    check(reads    ? hf_reader(client, name, &lock)
          : writes ? hf_writer(client, name, &lock)
                   : hf_mutex(client, name, &lock),
          name, client);
    if (strcmp(mode, "turns") == 0 && argc == 6) {
        start();
        printf("turns %ld\n", turns(client, lock, atol(argv[4]), open_file(argv[5])));
    } else if (strcmp(mode, "rw") == 0 && argc == 7) {
        start();
        rw(client, name, atol(argv[4]), open_file(argv[5]), atoi(argv[6]));
    } else if (strncmp(mode, "hold", 4) == 0 || strcmp(mode, "downgrade") == 0) {
        hold(client, lock, *mode == 'd');
    } else if (strncmp(mode, "try", 3) == 0) {
        status = attempt(client, lock);
    } else {
        must(false, mode, "no such mode, or other arguments");
    }
    return status;
}

/* ---- Testing itself ----------------------------------------------------------------- */

static int shared_file;

static void *play_alone(void *data)
{
    struct hf_client *client = NULL;
    struct hf_lock   *lock = NULL;

    check(hf_open("memory:peer", NULL, &client), "open", NULL);
    check(hf_mutex(client, "turns", &lock), "mutex", client);
    *(long *)data = turns(client, lock, 500, shared_file);
    hf_close(client);
    return NULL;
}

static int test_alone(void)
{
    pthread_t thread[3];
    long      had[3] = { 0 };

    shared_file = memfd_create("peer", MFD_CLOEXEC);
    must(shared_file >= 0, "memory", "no file there");
    put(shared_file, 0, 0);
    for (int i = 0; i < 3; i++)
        must(pthread_create(&thread[i], NULL, play_alone, &had[i]) == 0, "thread",
             "none");
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    bool exact = get(shared_file, 0) == 500 && had[0] + had[1] + had[2] == 500;
    must(exact, "turns", "some were lost");
    return 0;
}

int main(int argc, char **argv)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client;
    char              error[256] = "";

    if (argc == 1)
        return test_alone();
    must(argc >= 4, "usage", "peer MODE URL NAME [ARGUMENT...]");
    options.on_ask = on_ask;
    options.note = "from peer";
    options.error = error;
    options.error_size = sizeof error;
    must(hf_open(argv[2], &options, &client) == 0, argv[2], error);
    int status = play(client, argc, argv);
    hf_close(client);
    return status;
}
