/* lab.c - see lab.h. */
#include "lib/lab.h"

#include "client/url.h"
#include "holdfast.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void lab_open(struct lab *lab)
{
    const char *top = getenv("TMPDIR");

    snprintf(lab->top, sizeof lab->top, "%.40s/lab.XXXXXX", top != NULL ? top : "/tmp");
    assert_non_null(mkdtemp(lab->top));
    snprintf(lab->folder, sizeof lab->folder, "%s/store", lab->top);
    snprintf(lab->path, sizeof lab->path, "%s/locks.db", lab->folder);
    snprintf(lab->url, sizeof lab->url, "sqlite:%s", lab->path);
    assert_int_equal(mkdir(lab->folder, 0700), 0);
    promise_use(lab->url);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

void lab_close(struct lab *lab)
{
    chmod(lab->folder, 0700);
    nftw(lab->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int lab_setup(void **state)
{
    struct lab *lab = calloc(1, sizeof *lab);

    if (lab == NULL)
        return -1;
    lab_open(lab);
    *state = lab;
    return 0;
}

int lab_teardown(void **state)
{
    lab_close(*state);
    free(*state);
    return 0;
}

const char *lab_file(const struct lab *lab, const char *ending)
{
    static char path[2][160];
    static int  turn;

    turn = 1 - turn;
    snprintf(path[turn], sizeof path[turn], "%s%s", lab->path, ending);
    return path[turn];
}

bool lab_has(const struct lab *lab, const char *ending)
{
    return access(lab_file(lab, ending), F_OK) == 0;
}

void lab_unlink(const struct lab *lab, const char *ending)
{
    assert_int_equal(unlink(lab_file(lab, ending)), 0);
}

size_t lab_count(const char *folder)
{
    DIR   *dir = opendir(folder);
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count - 2;
}

void lab_copy(const char *from, const char *to)
{
    char    buffer[65536];
    ssize_t n;
    int     in = open(from, O_RDONLY | O_CLOEXEC);
    int     out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(in >= 0 && out >= 0);
    while ((n = read(in, buffer, sizeof buffer)) > 0)
        assert_int_equal(write(out, buffer, (size_t)n), n);
    close(in);
    close(out);
}

int64_t lab_sql(const struct lab *lab, const char *text)
{
    sqlite3      *db;
    sqlite3_stmt *query;
    int64_t       value = 0;

    assert_int_equal(sqlite3_open(lab->path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    if (sqlite3_prepare_v2(db, text, -1, &query, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
    int rc = sqlite3_step(query);
    if (rc == SQLITE_ROW)
        value = sqlite3_column_int64(query, 0);
    else
        assert_int_equal(rc, SQLITE_DONE);
    sqlite3_finalize(query);
    sqlite3_close(db);
    return value;
}

int lab_try(const char *url, char *errmsg)
{
    struct hf_url    parsed;
    struct hf_store *store;

    errmsg[0] = '\0';
    int r = hf_url_parse(url, &parsed, errmsg);
    if (r < 0)
        return r;
    r = hf_store_open(&parsed.config, errmsg, &store);
    hf_url_finish(&parsed);
    if (r == 0)
        store->impl->close(store);
    return r;
}

bool lab_loses(struct player *player, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;
    int     before = player->lost;

    while (player->lost == before && hf_now() < end)
        player_turn(player, hf_poll_ms(hf_now(), end));
    return player->lost > before;
}

bool lab_becomes(struct player *player, const char *name, size_t count, int ms)
{
    hf_time    end = hf_now() + ms * HF_MS;
    struct ask all;

    while (list(player, name, &all) == 0 && all.count != count && hf_now() < end)
        player_turn(player, 1);
    return all.count == count;
}
