/* diagnose.c - DIAGNOSE: what a person should know about the files and about a line.
 *
 * A fault in one part is a finding, and the other parts are still checked.
 */
#include "store/sqlite/db/db.h"
#include "store/sqlite/files/files.h"
#include "store/sqlite/files/live.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/link.h"
#include "store/sqlite/wake/wake.h"

#include "base/fork.h"
#include "base/volume.h"
#include "holdfast.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define KIB 1024ull
#define MIB (1024 * KIB)

#define LOG_WARN  (64 * MIB) /* of the write-ahead log */
#define DISK_WARN (16 * MIB) /* of free space */
#define DISK_FULL (64 * KIB)

static const char *size_text(char out[32], unsigned long long bytes)
{
    if (bytes < 10 * MIB)
        snprintf(out, 32, "%llu KiB", (bytes + KIB - 1) / KIB);
    else
        snprintf(out, 32, "%llu MiB", bytes / MIB);
    return out;
}

/* ---- Files ------------------------------------------------------------------- */

/* The error that a client would get if it opened the files now. */
static void report_ownership(struct hf_sq *sq)
{
    char why[HF_ERRMSG_MAX];

    if (hf_sq_files_check(&sq->files, why) < 0)
        hf_finding_add(&sq->findings, HF_FAULT, "files",
                       "until then every new client is refused", "%s", why);
}

static void report_file(struct hf_sq *sq)
{
    struct hf_finding_list *list = &sq->findings;
    struct stat             db = { 0 }, wal = { 0 };
    char                    size[32], log[32];

    if (stat(sq->files.db, &db) < 0) {
        hf_finding_add(list, HF_FAULT, "file", NULL, "cannot look at %s: %s",
                       sq->files.db, strerror(errno));
        return;
    }
    (void)stat(sq->files.wal, &wal); /* if there is none: empty */
    bool is_long = (unsigned long long)wal.st_size > LOG_WARN;
    hf_finding_add(list, is_long ? HF_WARNING : HF_FINE, "file",
                   is_long
                       ? "end what keeps the log from being written back: a transaction "
                         "left open in another program"
                       : NULL,
                   "%s, %s, log %s", sq->files.db,
                   size_text(size, (unsigned long long)db.st_size),
                   size_text(log, (unsigned long long)wal.st_size));

    bool open = (db.st_mode & S_IRWXO) != 0;
    char group[64] = "", name[64];
    if (sq->files.shared)
        snprintf(group, sizeof group, ", shared with group %.40s",
                 hf_sq_group_name(sq->files.group, name));
    hf_finding_add(list, open ? HF_WARNING : HF_FINE, "permissions",
                   open ? "others can see who holds what, and more: chmod o-rwx it"
                        : NULL,
                   "%04o, owner %lu%s", (unsigned)db.st_mode & 07777u,
                   (unsigned long)db.st_uid, group);
}

/* The owner of a folder can replace any file in it, whoever owns that file. */
static void report_folder(struct hf_sq *sq)
{
    struct stat st;

    if (stat(sq->files.folder, &st) < 0 || st.st_uid == 0 || st.st_uid == geteuid() ||
        sq->files.shared)
        return;
    hf_finding_add(&sq->findings, HF_WARNING, "folder",
                   "use a folder of your own: its owner can replace the files in it",
                   "%s belongs to another user, %lu", sq->files.folder,
                   (unsigned long)st.st_uid);
}

static void report_volume(struct hf_sq *sq)
{
    struct statfs fs;

    if (statfs(sq->files.folder, &fs) < 0)
        return; /* no folder yet */
    const char *unsafe = hf_unsafe_volume((unsigned long)fs.f_type);
    if (unsafe != NULL)
        hf_finding_add(&sq->findings, HF_WARNING, "file system",
                       "use a local disk, unless all users of it are on this machine",
                       "%s, forced by ?force=1", unsafe);
    else
        hf_finding_add(&sq->findings, HF_FINE, "file system", NULL, "local");
}

static void report_disk(struct hf_sq *sq)
{
    struct statvfs     disk;
    char               text[32];
    enum hf_level      level = HF_FINE;
    unsigned long long left;

    if (statvfs(sq->files.folder, &disk) < 0)
        return;
    left = (unsigned long long)disk.f_bavail * disk.f_frsize;
    if (left < DISK_WARN)
        level = left < DISK_FULL ? HF_FAULT : HF_WARNING;
    hf_finding_add(&sq->findings, level, "disk",
                   level != HF_FINE ? "make room: on a full disk nobody can queue" : NULL,
                   "%s free", size_text(text, left));
}

/* ---- Database ---------------------------------------------------------------- */

/* Report the answer to a pragma, and whether it is `good`. */
static void report_pragma(struct hf_sq *sq, const char *pragma, const char *good,
                          const char *about, const char *hint, const char *before)
{
    char *text;
    int   r = hf_sq_db_ask(&sq->db, pragma, &text);
    bool  fine = r == 0 && text != NULL && strcmp(text, good) == 0;

    hf_finding_add(&sq->findings, fine ? HF_FINE : HF_FAULT, about, fine ? NULL : hint,
                   "%s%s", before,
                   r < 0          ? sq->base.errmsg
                   : text != NULL ? text
                                  : "");
    free(text);
}

static void report_database(struct hf_sq *sq)
{
    char version[64];

    snprintf(version, sizeof version, "%s, journal mode ", sqlite3_libversion());
    report_pragma(sq, "PRAGMA journal_mode", "wal", "SQLite",
                  "another program changed it: PRAGMA journal_mode = WAL", version);
    report_pragma(sq, "PRAGMA quick_check(1)", "ok", "integrity",
                  "move the files away once nobody uses them", "");
}

/* ---- The process that blocks all writers ------------------------------------- */

/* The kernel lists the locks on files, with the process that took each:
 *
 *     1: FLOCK  ADVISORY  WRITE 4242 fe:00:1234 0 EOF
 *     2: POSIX  ADVISORY  WRITE 4243 fe:00:1235 120 120
 *
 * We do not see processes in other containers. */
#define BLOCKER_MAX 80
#define WRITING     120 /* the byte of PATH-shm that SQLite's writer locks: wal.c */

/* The process that has a write lock on the file at `path`, from `start` on; 0: none
 * that we can see. */
static long find_locker(const char *path, const char *kind, unsigned long long start)
{
    struct stat st;
    char        line[256];
    long        found = 0;

    hf_low_take();
    FILE *locks = stat(path, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
    hf_low_give();
    while (locks != NULL && found == 0 && fgets(line, sizeof line, locks) != NULL) {
        char               is[8], what[8];
        unsigned           major_, minor_;
        unsigned long long inode, from;
        long               pid;
        if (sscanf(line, "%*d: %7s %*s %7s %ld %x:%x:%llu %llu", is, what, &pid, &major_,
                   &minor_, &inode, &from) == 7 &&
            strcmp(is, kind) == 0 && strcmp(what, "WRITE") == 0 && inode == st.st_ino &&
            major_ == major(st.st_dev) && minor_ == minor(st.st_dev) && from == start &&
            pid > 0)
            found = pid;
    }
    if (locks != NULL)
        fclose(locks);
    return found;
}

/* As " (pid 4242, ana)"; "": none that we can see. */
static void name_blocker(const struct hf_sq_files *files, char ret[BLOCKER_MAX])
{
    struct passwd entry, *found = NULL;
    struct stat   st;
    char          process[32], room[4096];

    ret[0] = '\0';
    long pid = find_locker(files->live, "FLOCK", 0);
    if (pid == 0)
        pid = find_locker(files->shm, "POSIX", WRITING);
    snprintf(process, sizeof process, "/proc/%ld", pid);
    if (pid == 0 || stat(process, &st) < 0)
        return;
    if (getpwuid_r(st.st_uid, &entry, room, sizeof room, &found) == 0 && found != NULL)
        snprintf(ret, BLOCKER_MAX, " (pid %ld, %.32s)", pid, found->pw_name);
    else
        snprintf(ret, BLOCKER_MAX, " (pid %ld, uid %u)", pid, st.st_uid);
}

/* Can we write?  A process that was stopped while it had the write lock keeps
 * everybody out, and so does a transaction that was left open in another program. */
static int report_write_lock(struct hf_sq *sq)
{
    char blocker[BLOCKER_MAX] = "";
    int  r = hf_sq_begin(sq);

    if (r == HF_SQ_LOCKED || r == HF_SQ_STALE)
        return r;
    if (r == 0)
        hf_sq_abort(sq);
    else
        name_blocker(&sq->files, blocker);
    hf_finding_add(&sq->findings, r == 0 ? HF_FINE : HF_FAULT, "write lock",
                   r == 0 ? NULL : "continue that process (kill -CONT), or end it",
                   "%s%s", r == 0 ? "free" : sq->base.errmsg, blocker);
    return 0;
}

/* ---- Lines ------------------------------------------------------------------- */

struct count {
    size_t lines, places, dead;
};

static int count_rows(struct hf_sq *sq, struct count *ret)
{
    sqlite3_stmt *query = hf_sq_db_query(&sq->db, HF_SQ_ALL);
    uint64_t      line = 0;
    int           r;

    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        struct hf_sq_row row;
        hf_sq_row_read(query, &row);
        if (!hf_sq_live_is_locked(&sq->live, row.seq)) {
            ret->dead++;
            continue;
        }
        const char *name = (const char *)sqlite3_column_text(query, 8);
        uint64_t    hash = hf_sq_hash(name != NULL ? name : "");
        ret->lines += hash != line;
        ret->places++;
        line = hash;
    }
    return r;
}

static void report_lines(struct hf_sq *sq)
{
    struct hf_finding_list *list = &sq->findings;
    struct count            count = { 0 };
    size_t                  sessions, stale;

    if (count_rows(sq, &count) < 0) {
        hf_finding_add(list, HF_FAULT, "lines", NULL, "%s", sq->base.errmsg);
        return;
    }
    stale = hf_sq_fifo_clean(sq, true, &sessions);
    hf_finding_add(list, HF_FINE, "lines", NULL, "%zu, with %zu places, of %zu sessions",
                   count.lines, count.places, sessions - stale);
    if (count.dead + stale > 0)
        hf_finding_add(
            list, HF_FINE, "leftovers", NULL,
            "of dead sessions: places %zu, FIFOs %zu; the next session removes them",
            count.dead, stale);
    else
        hf_finding_add(list, HF_FINE, "leftovers", NULL, "none");
    hf_finding_add(list, HF_FINE, "token", NULL, "the highest given out is %llu",
                   (unsigned long long)sq->header.last);
}

static void report_line(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_finding_list *list = &sq->findings;
    struct hf_sum           ahead = { 0 };
    size_t                  hold = 0;

    int r = hf_sq_list(sq, req);
    if (r < 0) {
        hf_finding_add(list, HF_FAULT, "line", NULL, "%s",
                       r == HF_SQ_STALE ? "the files were replaced" : sq->base.errmsg);
        return;
    }
    const struct hf_line *line = &req->line;
    for (size_t i = 0; i < line->count; i++)
        hold += hf_sum_next(&ahead, &line->place[i].shape);
    hf_finding_add(list, HF_FINE, "line", NULL, "%zu hold \"%s\", %zu wait", hold,
                   req->name, line->count - hold);
    req->line = (struct hf_line){ 0 };
}

int hf_sq_diagnose(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_finding_list *list = &sq->findings;

    hf_finding_list_clear(list);
    int r = hf_sq_connect(sq, false);
    if (r < 0 && r != HF_ENOTFOUND)
        return r;
    bool there = r == 0;
    if (there && !hf_sq_is_current(sq))
        return HF_SQ_STALE;
    report_folder(sq);
    if (there)
        report_ownership(sq);
    if (there)
        report_file(sq);
    else
        hf_finding_add(list, HF_FINE, "file", NULL,
                       "%s does not exist yet; the first lock makes it", sq->files.db);
    report_volume(sq);
    report_disk(sq);
    if (there) {
        r = report_write_lock(sq);
        if (r < 0)
            return r;
        report_database(sq);
        report_lines(sq);
    }
    if (there && req->name != NULL)
        report_line(sq, req);
    req->finding = list->finding;
    req->findings = list->count;
    return list->failed ? HF_ENOMEM : 0;
}
