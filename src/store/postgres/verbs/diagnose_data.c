/* diagnose_data.c - findings about our data: what a crash, a failover or a lack of vacuum
 * would do to them. */
#include "store/postgres/verbs/diagnose.h"

#include <inttypes.h>
#include <stdio.h>

#define MB        (1024.0 * 1024.0)
#define SOME_DEAD 2000  /* rows: our tables' threshold for autovacuum */
#define MANY_DEAD 20000 /* ten times that */
#define LONG_OPEN 60    /* seconds, for a transaction */

/* ---- A crash, a failover -------------------------------------------------------- */

static void report_disk(const struct hf_pg_diagnose *diagnose,
                        struct hf_finding_list      *list)
{
    if (!hf_pg_fact_is(diagnose, "fsync", "on"))
        hf_finding_add(
            list, HF_WARNING, "disk", "fsync = on in its postgresql.conf",
            "fsync is off: if the machine fails, grants may be lost and given to "
            "others, or the data be damaged");
    else if (!hf_pg_fact_is(diagnose, "full_pages", "on"))
        hf_finding_add(list, HF_WARNING, "disk",
                       "full_page_writes = on in its postgresql.conf",
                       "full_page_writes is off: if the machine fails, the data may be "
                       "damaged");
    else
        hf_finding_add(list, HF_FINE, "disk", NULL,
                       "grants and renewals are on disk before they count");
}

static void report_standbys(const struct hf_pg_diagnose *diagnose,
                            struct hf_finding_list      *list)
{
    int64_t count = hf_pg_fact_number(diagnose, "standbys");
    bool    synchronous = !hf_pg_fact_is(diagnose, "standby_names", "");
    bool    local = hf_pg_fact_is(diagnose, "sync", "local");

    if (count == 0 && !synchronous)
        hf_finding_add(list, HF_FINE, "standbys", NULL,
                       "none: without this server there are no locks");
    else if (synchronous && !local)
        hf_finding_add(list, HF_FINE, "standbys", NULL,
                       "%" PRId64 "; every grant is known to %s before it counts", count,
                       hf_pg_fact(diagnose, "standby_names"));
    else
        hf_finding_add(list, HF_WARNING, "standbys",
                       synchronous
                           ? "synchronous_commit = on for this user"
                           : "set synchronous_standby_names there, and check tokens "
                             "where the data is",
                       "%" PRId64
                       "%s: after a failover the new primary may not know the last "
                       "grants, and two may hold the same lock",
                       count,
                       synchronous ? ", but synchronous_commit is local"
                                   : ", asynchronous");
}

/* ---- Our data ------------------------------------------------------------------- */

static void report_lines(const struct hf_pg_diagnose *diagnose, const char *name,
                         struct hf_finding_list *list)
{
    int64_t wrong = hf_pg_fact_number(diagnose, "wrong");
    int64_t altered = hf_pg_fact_number(diagnose, "altered");

    hf_finding_add(list, altered > 0 ? HF_WARNING : HF_FINE, "schema",
                   altered > 0 ? "do you trust its owner, and every role that may create "
                                 "functions there?  See docs/postgres.md"
                               : NULL,
                   altered > 0 ? "holdfast, version %u, owned by %s; %" PRId64
                                 " of its functions differ from those that init makes"
                               : "holdfast, version %u, owned by %s",
                   hf_pg_schema_version, hf_pg_fact(diagnose, "owner"), altered);
    hf_finding_add(
        list, wrong > 0 ? HF_FAULT : HF_FINE, "integrity",
        wrong > 0 ? "was it changed by hand?  Let the owner of the schema run SELECT "
                    "holdfast.recount()"
                  : NULL,
        wrong > 0 ? "the totals of %" PRId64 " queues do not match their places" : "ok",
        wrong);
    hf_finding_add(list, HF_FINE, "lines", NULL,
                   "%" PRId64 " sessions, ours included; %" PRId64 " hold, %" PRId64
                   " wait, %" PRId64 " queues are empty",
                   hf_pg_fact_number(diagnose, "sessions"),
                   hf_pg_fact_number(diagnose, "holders"),
                   hf_pg_fact_number(diagnose, "waiters"),
                   hf_pg_fact_number(diagnose, "empty"));
    if (name != NULL)
        hf_finding_add(list, HF_FINE, "line", NULL,
                       "%" PRId64 " hold \"%s\", %" PRId64 " wait",
                       hf_pg_fact_number(diagnose, "name_holders"), name,
                       hf_pg_fact_number(diagnose, "name_waiters"));
}

/* ---- Housekeeping --------------------------------------------------------------- */

/* Every change of a line leaves a dead row, which vacuum removes once no transaction can
 * still see it.  Until then each call has to skip all of them. */
static void report_upkeep(const struct hf_pg_diagnose *diagnose,
                          struct hf_finding_list      *list)
{
    int64_t dead = hf_pg_fact_number(diagnose, "dead_rows");
    int64_t age = hf_pg_fact_number(diagnose, "oldest_age");
    int64_t seconds = hf_pg_fact_number(diagnose, "oldest_seconds"); /* 0: not known */
    bool    vacuum = hf_pg_fact_is(diagnose, "autovacuum", "on");
    bool    old = age > SOME_DEAD && (seconds == 0 || seconds > LONG_OPEN);
    bool    held_up = dead > MANY_DEAD ? age > 0 : dead > SOME_DEAD && old;
    char    open[192] = "", since[40] = "";

    if (seconds > 0)
        snprintf(since, sizeof since, ", open for %" PRId64 " s,", seconds);
    if (held_up || old)
        snprintf(open, sizeof open,
                 "; %.80s%s holds vacuum up by %" PRId64 " transactions",
                 hf_pg_fact(diagnose, "oldest"), since, age);
    hf_finding_add(list, dead > MANY_DEAD || held_up || !vacuum ? HF_WARNING : HF_FINE,
                   "upkeep",
                   held_up   ? "end it: until then busy locks get slower and slower; see "
                               "docs/postgres.md"
                   : !vacuum ? "autovacuum = on in its postgresql.conf"
                   : dead > MANY_DEAD ? "VACUUM the tables of holdfast; see "
                                        "docs/postgres.md"
                                      : NULL,
                   "%" PRId64 " rows, %" PRId64 " dead ones, %.1f MB; autovacuum is %s%s",
                   hf_pg_fact_number(diagnose, "live_rows"), dead,
                   (double)hf_pg_fact_number(diagnose, "bytes") / MB,
                   vacuum ? "on" : "off", open);
}

void hf_pg_report_data(const struct hf_pg_diagnose *diagnose, const char *name,
                       struct hf_finding_list *list)
{
    report_disk(diagnose, list);
    report_standbys(diagnose, list);
    report_lines(diagnose, name, list);
    report_upkeep(diagnose, list);
}
