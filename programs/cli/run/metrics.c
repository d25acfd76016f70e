/* metrics.c - see metrics.h. */
#include "run/metrics.h"

#include "clock.h"
#include "complain.h"
#include "prom.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define US_PER_S 1e6

/* There is one file, as there is one lock in this process. */
static struct {
    const char *path; /* NULL: none is wanted */
    const char *name;
    int64_t     started; /* us since 1970 */
    int64_t     ended;   /* 0: not yet */
    int         code;
    const char *state;
} run;

/* A name in the same folder that no collector reads. */
static FILE *open_beside(char path[PATH_MAX])
{
    const char *slash = strrchr(run.path, '/');
    int         folder = slash != NULL ? (int)(slash - run.path) + 1 : 0;
    int         n =
        snprintf(path, PATH_MAX, "%.*s.%s.XXXXXX", folder, run.path, run.path + folder);

    if (n < 0 || n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return NULL;
    (void)fchmod(fd, 0644); /* the collector runs as another user */
    FILE *out = fdopen(fd, "w");
    if (out == NULL) {
        close(fd);
        unlink(path);
    }
    return out;
}

static void write_gauge(FILE *out, const char *name, const char *help, double value)
{
    prom_head(out, name, "gauge", help);
    prom_value(out, name, (struct prom_label[]){ { "lock", run.name }, { NULL, NULL } },
               value);
}

static void write_state(FILE *out)
{
    static const char *const states[] = { "waiting", "held", "ended" };

    prom_head(out, "holdfast_run_state", "gauge",
              "The state of the last run: 1 for the current one.");
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        prom_value(out, "holdfast_run_state",
                   (struct prom_label[]){
                       { "lock", run.name }, { "state", states[i] }, { NULL, NULL } },
                   strcmp(states[i], run.state) == 0);
    write_gauge(out, "holdfast_run_start_time_seconds", "When the last run began.",
                (double)run.started / US_PER_S);
    if (run.ended == 0)
        return;
    write_gauge(out, "holdfast_run_end_time_seconds", "When the last run ended.",
                (double)run.ended / US_PER_S);
    write_gauge(out, "holdfast_run_exit_code", "The exit code of the last run.",
                run.code);
}

static void write_lock(FILE *out, struct hf_lock *lock)
{
    struct hf_stats stats = { .least_left = INT64_MAX };

    if (lock != NULL)
        hf_get_stats(lock, &stats, sizeof stats);
    write_gauge(out, "holdfast_run_acquired", "Whether the lock was acquired.",
                stats.acquired > 0);
    write_gauge(out, "holdfast_run_timed_out", "Whether the wait ended without the lock.",
                stats.timeouts + stats.busy > 0);
    write_gauge(out, "holdfast_run_lost", "Whether the lock was lost while it was held.",
                stats.lost > 0);
    write_gauge(out, "holdfast_run_broken", "Whether somebody broke the lock.",
                stats.broken > 0);
    if (stats.acquired > 0)
        write_gauge(out, "holdfast_run_wait_seconds",
                    "How long the run waited for the lock.",
                    (double)stats.wait.total_us / US_PER_S);
    if (stats.hold.count > 0)
        write_gauge(out, "holdfast_run_hold_seconds", "How long the lock was held.",
                    (double)stats.hold.total_us / US_PER_S);
    if (stats.least_left != INT64_MAX)
        write_gauge(
            out, "holdfast_run_lease_left_least_seconds",
            "The shortest time that was left of the lease while the lock was held.",
            (double)stats.least_left / US_PER_S);
}

static void write_client(FILE *out, struct hf_client *client)
{
    static const char     *round_trip = "holdfast_run_round_trip_seconds";
    struct hf_client_stats stats = { 0 };

    if (client == NULL)
        return;
    hf_get_client_stats(client, &stats, sizeof stats);
    write_gauge(out, "holdfast_run_renewals",
                "Renewals of the lease while the lock was held.", (double)stats.renewals);
    write_gauge(out, "holdfast_run_renewals_late",
                "Renewals that came when less than half of the lease was left.",
                (double)stats.late);
    write_gauge(out, "holdfast_run_reconnects", "Reconnections to the store.",
                stats.connected > 0 ? (double)stats.connected - 1 : 0);
    prom_head(out, round_trip, "histogram", "How long the store took to answer.");
    prom_histogram(out, round_trip,
                   (struct prom_label[]){ { "lock", run.name }, { NULL, NULL } },
                   &stats.round_trip);
}

/* If the metrics cannot be written, the run goes on. */
static void write_file(struct hf_client *client, struct hf_lock *lock)
{
    char  path[PATH_MAX];
    FILE *out = open_beside(path);

    if (out != NULL) {
        write_state(out);
        write_lock(out, lock);
        write_client(out, client);
        bool bad = ferror(out) != 0;
        if (fclose(out) == 0 && !bad && rename(path, run.path) == 0)
            return;
        int error = errno;
        unlink(path);
        errno = error;
    }
    complain("--metrics-file %s: cannot write it: %s", run.path, strerror(errno));
    run.path = NULL; /* once is enough */
}

int metrics_open(const struct args *args)
{
    char path[PATH_MAX];

    if (args->metrics_file == NULL)
        return 0;
    if (*args->metrics_file == '\0') {
        complain("--metrics-file: the name of the file is empty");
        return EXIT_USAGE;
    }
    run.path = args->metrics_file;
    run.name = args->operand[0];
    run.started = clock_wall_us();
    FILE *out = open_beside(path);
    if (out == NULL) {
        complain("--metrics-file %s: cannot create a file there: %s", run.path,
                 strerror(errno));
        return EXIT_USAGE;
    }
    fclose(out);
    unlink(path);
    return 0;
}

void metrics_waiting(struct hf_client *client)
{
    if (run.path == NULL)
        return;
    run.state = "waiting";
    run.ended = 0;
    write_file(client, NULL);
}

void metrics_held(struct hf_client *client, struct hf_lock *lock)
{
    if (run.path == NULL)
        return;
    run.state = "held";
    write_file(client, lock);
}

void metrics_ended(struct hf_client *client, struct hf_lock *lock, int code)
{
    if (run.path == NULL)
        return;
    run.state = "ended";
    run.ended = clock_wall_us();
    run.code = code;
    write_file(client, lock);
}
