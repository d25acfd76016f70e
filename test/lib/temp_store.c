/* temp_store.c - see temp_store.h. */
#include "lib/temp_store.h"

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

void temp_open(struct temp_store *temp)
{
    const char *top = getenv("TMPDIR");

    snprintf(temp->top, sizeof temp->top, "%.40s/temp.XXXXXX",
             top != NULL ? top : "/tmp");
    assert_non_null(mkdtemp(temp->top));
    snprintf(temp->folder, sizeof temp->folder, "%s/store", temp->top);
    snprintf(temp->path, sizeof temp->path, "%s/locks.db", temp->folder);
    snprintf(temp->url, sizeof temp->url, "sqlite:%s", temp->path);
    assert_int_equal(mkdir(temp->folder, 0700), 0);
    promise_use(temp->url);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

void temp_close(struct temp_store *temp)
{
    chmod(temp->folder, 0700);
    nftw(temp->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int temp_setup(void **state)
{
    struct temp_store *temp = calloc(1, sizeof *temp);

    if (temp == NULL)
        return -1;
    temp_open(temp);
    *state = temp;
    return 0;
}

int temp_teardown(void **state)
{
    temp_close(*state);
    free(*state);
    return 0;
}

const char *temp_file(const struct temp_store *temp, const char *ending)
{
    static char path[2][160];
    static int  turn;

    turn = 1 - turn;
    snprintf(path[turn], sizeof path[turn], "%s%s", temp->path, ending);
    return path[turn];
}

bool temp_has(const struct temp_store *temp, const char *ending)
{
    return access(temp_file(temp, ending), F_OK) == 0;
}

void temp_unlink(const struct temp_store *temp, const char *ending)
{
    assert_int_equal(unlink(temp_file(temp, ending)), 0);
}

size_t count_files(const char *folder)
{
    DIR   *dir = opendir(folder);
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count - 2;
}

void copy_file(const char *from, const char *to)
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

int64_t temp_sql(const struct temp_store *temp, const char *text)
{
    sqlite3      *db;
    sqlite3_stmt *query;
    int64_t       value = 0;

    assert_int_equal(sqlite3_open(temp->path, &db), SQLITE_OK);
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

int temp_try_open(const char *url, char *errmsg)
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

bool player_loses_session(struct player *player, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;
    int     before = player->lost;

    while (player->lost == before && hf_now() < end)
        player_turn(player, hf_poll_ms(hf_now(), end));
    return player->lost > before;
}

bool player_sees_line(struct player *player, const char *name, size_t count, int ms)
{
    hf_time        end = hf_now() + ms * HF_MS;
    struct request all;

    while (list(player, name, &all) == 0 && all.count != count && hf_now() < end)
        player_turn(player, 1);
    return all.count == count;
}
