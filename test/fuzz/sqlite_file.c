/* sqlite_file.c - a store's file with anything written over it, or with any rows in it.
 *
 * The file is one that the store itself made, with places, reasons and a history.  The
 * first byte of the input says how it is damaged: bit 0, the sessions that its rows
 * belong to are alive; bit 1, rows are added, else bytes are overwritten; bit 2, there is
 * inotify.  Two clients then use it.  They may be refused, but must not both be granted
 * the same mutex. */
#include "fuzz/fuzz.h"
#include "holdfast.h"
#include "store/store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILE_MAX = 256 * 1024, ROUNDS = 1000, OLD_SEQS = 64 };

static char     folder[64], file[96];
static uint8_t  pristine[FILE_MAX];
static uint8_t  damaged[FILE_MAX]; /* as it is now, but for rows that were added */
static size_t   pristine_size;
static uint64_t old_seq; /* of the first place in that file */

static bool with_inotify;

/* The kernel takes ten milliseconds to close such a descriptor.  So mostly there is none,
 * as if the user had too many. */
int inotify_init1(int flags)
{
    if (with_inotify)
        return (int)syscall(SYS_inotify_init1, flags);
    errno = EMFILE;
    return -1;
}

/* ---- Clients ------------------------------------------------------------------------- */

static void on_done(struct hf_req *req)
{
    size_t length = 0;

    assert(req->data != req); /* S7: once */
    assert(req->status <= 0 && strcmp(hf_errname(req->status), "HF_UNKNOWN") != 0);
    for (size_t i = 0; req->op == HF_LIST && i < req->line.count; i++)
        length += strlen(req->line.place[i].line) + strlen(req->line.place[i].note);
    for (size_t i = 0; i < req->entries; i++)
        length += strlen(req->entry[i].line) + strlen(req->entry[i].note) +
                  strlen(req->entry[i].reason);
    for (size_t i = 0; i < req->findings; i++)
        length += strlen(req->finding[i].text);
    assert(length < SIZE_MAX / 2);
    req->data = req;
}

static struct hf_store *open_client(void)
{
    struct hf_param  param = { "history", "20" };
    struct hf_config config = { .url = file,
                                .given = file,
                                .scheme = "sqlite",
                                .rest = file,
                                .ttl_ms = 15000,
                                .param = &param,
                                .params = 1 };
    struct hf_store *store = NULL;
    char             errmsg[HF_ERRMSG_MAX] = "";

    int r = hf_store_open(&config, errmsg, &store);
    assert(r == 0 || (errmsg[0] != '\0' && strlen(errmsg) < sizeof errmsg));
    return store;
}

/* A WATCH that would wait is canceled. */
static struct hf_req ask(struct hf_store *store, struct hf_req req)
{
    req.done = on_done;
    req.status = HF_EDOWN;
    if (store == NULL)
        return req;
    store->impl->submit(store, &req);
    for (int i = 0; i < ROUNDS && req.data != &req; i++) {
        store->impl->process(store, hf_now(), true);
        if (i == 2 && req.data != &req)
            store->impl->cancel(store, &req);
    }
    assert(req.data == &req); /* it does not hang */
    return req;
}

static struct hf_req enter(struct hf_store *store, const char *name, uint64_t id,
                           struct hf_shape shape)
{
    return ask(store, (struct hf_req){ .op = HF_ENTER,
                                       .name = name,
                                       .id = id,
                                       .shape = shape,
                                       .note = "user=ana host=db1 pid=1" });
}

static bool holds(const struct hf_req *req)
{
    return req->status == 0 && req->standing.state == HF_STAND_HOLDS;
}

/* ---- The file ------------------------------------------------------------------------ */

static void remove_files(const char *path)
{
    struct dirent *entry;
    char           name[400];
    DIR           *all = opendir(path);

    while (all != NULL && (entry = readdir(all)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (unlink(name) < 0)
            remove_files(name);
        rmdir(name);
    }
    if (all != NULL)
        closedir(all);
}

static void remove_folder(void)
{
    remove_files(folder);
    rmdir(folder);
}

static void run_sql(sqlite3 *db, const char *text)
{
    int rc = sqlite3_exec(db, text, NULL, NULL, NULL);
    assert(rc == SQLITE_OK);
}

static void keep_file(void)
{
    sqlite3 *db;

    assert(sqlite3_open(file, &db) == SQLITE_OK);
    run_sql(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    FILE *stream = fopen(file, "rb");
    assert(stream != NULL);
    pristine_size = fread(pristine, 1, sizeof pristine, stream);
    assert(pristine_size > 0 && pristine_size < sizeof pristine);
    fclose(stream);
    sqlite3_close(db);
}

/* Places that wait and hold, of all kinds; a reason; entries of the history. */
static void make_file(void)
{
    const struct hf_shape mutex = { 1, 1, false }, part = { 2, 3, false };

    strcpy(folder, "/dev/shm/hf-fuzz-XXXXXX");
    assert(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    snprintf(file, sizeof file, "%s/locks.db", folder);
    struct hf_store *store = open_client();
    struct hf_req    first = enter(store, "a", 1, mutex);
    assert(holds(&first));
    for (uint64_t id = 2; id < 8; id++)
        enter(store, id % 2 == 0 ? "a" : "b", id, id % 2 == 0 ? mutex : part);
    enter(store, "c", 9, (struct hf_shape){ 1, 1, true });
    enter(store, "d", 10, (struct hf_shape){ 1, HF_ALL, false });
    old_seq = first.standing.token;
    ask(store,
        (struct hf_req){
            .op = HF_ASK, .name = "a", .token = first.standing.token, .note = "please" });
    keep_file();
    store->impl->close(store);
}

/* ---- Damage -------------------------------------------------------------------------- */

struct reader {
    const uint8_t *at, *end;
};

static uint64_t take_number(struct reader *reader, size_t size)
{
    uint64_t number = 0;

    while (size-- > 0)
        number = number << 8 | (reader->at < reader->end ? *reader->at++ : 0);
    return number;
}

/* A record: where, how many, which bytes. */
static void overwrite(uint8_t *bytes, struct reader *reader)
{
    while (reader->end - reader->at > 3) {
        size_t where = take_number(reader, 2) % pristine_size;
        size_t size = take_number(reader, 1) % 64 + 1;
        while (size-- > 0 && where < pristine_size && reader->at < reader->end)
            bytes[where++] = *reader->at++;
    }
}

/* A value of any type. */
static void bind_value(sqlite3_stmt *query, int column, struct reader *reader)
{
    uint64_t kind = take_number(reader, 1);
    size_t   size = (size_t)(kind >> 3), left = (size_t)(reader->end - reader->at);

    size = size < left ? size : left;
    switch (kind % 8) {
    case 0:
        sqlite3_bind_text(query, column, "a", 1, SQLITE_STATIC);
        return;
    case 1:
        sqlite3_bind_int64(query, column, (int64_t)(kind >> 3));
        return;
    case 2: /* the number of a place */
        sqlite3_bind_int64(query, column, (int64_t)(old_seq + (kind >> 3)));
        return;
    case 3:
        sqlite3_bind_int64(query, column, (int64_t)take_number(reader, 8));
        return;
    case 4:
        sqlite3_bind_double(query, column, (double)(int64_t)take_number(reader, 8));
        return;
    case 5:
        sqlite3_bind_blob(query, column, reader->at, (int)size, SQLITE_TRANSIENT);
        break;
    default:
        sqlite3_bind_text(query, column, (const char *)reader->at, (int)size,
                          SQLITE_TRANSIENT);
        break;
    }
    reader->at += size;
}

static void add_rows(struct reader *reader)
{
    static const char *const inserts[] = {
        "INSERT OR IGNORE INTO place VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
        "INSERT OR IGNORE INTO ask VALUES (?,?,?)",
        "INSERT OR IGNORE INTO past VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        "UPDATE meta SET hwm = ?",
        "UPDATE place SET weight = ? WHERE line = ? OR seq = ?",
        "UPDATE place SET places = ?, waits = ?, total = ? WHERE seq = ?",
    };
    sqlite3 *db;

    assert(sqlite3_open(file, &db) == SQLITE_OK);
    run_sql(db, "BEGIN");
    for (int i = 0; i < 32 && reader->at < reader->end; i++) {
        size_t        which = take_number(reader, 1) % (sizeof inserts / sizeof *inserts);
        sqlite3_stmt *query;
        assert(sqlite3_prepare_v2(db, inserts[which], -1, &query, NULL) == SQLITE_OK);
        for (int column = 1; column <= sqlite3_bind_parameter_count(query); column++)
            bind_value(query, column, reader);
        sqlite3_step(query); /* it may violate a constraint */
        sqlite3_finalize(query);
    }
    run_sql(db, "COMMIT");
    sqlite3_close(db);
}

static void put_file(struct reader *reader, bool rows)
{
    remove_files(folder);
    memcpy(damaged, pristine, pristine_size);
    if (!rows)
        overwrite(damaged, reader);
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert(fd >= 0);
    assert(write(fd, damaged, pristine_size) == (ssize_t)pristine_size);
    close(fd);
    if (rows)
        add_rows(reader);
}

/* The liveness locks of all places that the file had, but for `mine`.  -1: the file for
 * these was not made. */
static int revive(uint64_t mine)
{
    char path[128];

    snprintf(path, sizeof path, "%s-live", file);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    for (uint64_t seq = old_seq; fd >= 0 && seq < old_seq + OLD_SEQS; seq++) {
        struct flock lock = { .l_type = F_WRLCK, .l_start = (off_t)seq, .l_len = 1 };
        if (seq != mine)
            (void)fcntl(fd, F_OFD_SETLK, &lock); /* if it fails, a client has it */
    }
    return fd;
}

/* ---- Use ----------------------------------------------------------------------------- */

static void look_around(struct hf_store *store, const char *name)
{
    ask(store, (struct hf_req){ .op = HF_LIST });
    ask(store, (struct hf_req){ .op = HF_LIST, .name = name });
    ask(store, (struct hf_req){ .op = HF_HISTORY });
    ask(store, (struct hf_req){ .op = HF_DIAGNOSE, .name = name });
    ask(store, (struct hf_req){ .op = HF_WATCH, .name = name });
    ask(store, (struct hf_req){ .op = HF_WATCH_STORE });
}

static void compete(struct hf_store *a, struct hf_store *b, bool alive)
{
    const struct hf_shape mutex = { 1, 1, false };
    struct hf_req         mark = enter(a, "z", 1, mutex);
    int                   others = alive ? revive(mark.standing.token) : -1;

    look_around(a, "a");
    struct hf_req first = enter(a, "a", 2, mutex), second = enter(b, "a", 3, mutex);
    assert(!holds(&first) || !holds(&second)); /* never twice */
    look_around(b, "a");
    second.standing.asked = NULL; /* it was lent */
    struct hf_req now =
        ask(b, (struct hf_req){
                   .op = HF_WATCH, .name = "a", .id = 3, .standing = second.standing });
    assert(!holds(&first) || !holds(&now));
    ask(a, (struct hf_req){ .op = HF_VERIFY, .name = "a", .id = 2 });
    ask(b, (struct hf_req){
               .op = HF_ASK, .name = "a", .token = first.standing.token, .note = "x" });
    ask(b, (struct hf_req){ .op = HF_BREAK, .name = "b", .token = 3, .note = "b" });
    ask(a, (struct hf_req){ .op = HF_LEAVE, .name = "a", .id = 2 });
    ask(b, (struct hf_req){ .op = HF_LEAVE, .name = "a", .id = 3 });
    if (others >= 0)
        close(others);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct reader reader = { bytes + 1, bytes + size };

    if (size == 0)
        return 0;
    if (pristine_size == 0)
        make_file();
    with_inotify = (bytes[0] & 4) != 0;
    put_file(&reader, (bytes[0] & 2) != 0);
    struct hf_store *a = open_client(), *b = open_client();
    compete(a, b, (bytes[0] & 1) != 0);
    if (a != NULL)
        a->impl->close(a);
    if (b != NULL)
        b->impl->close(b);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_run(argc, argv, __FILE__, 400);
}
#endif
