/* sqlite_files.c - the files of the SQLite store: who may read them, which are
 * trusted, and what is said about those that are not. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"
#include "store/sqlite/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* It must fail with this code, name the file, and leave it as it is. */
static void must_refuse(const struct lab *lab, int code, const char *part)
{
    char errmsg[HF_ERRMSG_MAX];

    assert_int_equal(lab_try(lab->url, errmsg), code);
    assert_non_null(strstr(errmsg, "locks.db"));
    if (strstr(errmsg, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", errmsg, part);
}

/* ---- What is made ----------------------------------------------------------------- */

static void check_modes(const struct lab *lab)
{
    char path[256];

    assert_int_equal(mode_of(lab->path), 0600);
    assert_int_equal(mode_of(lab_file(lab, "-wal")), 0600);
    assert_int_equal(mode_of(lab_file(lab, "-shm")), 0600);
    assert_int_equal(mode_of(lab_file(lab, "-live")), 0600);
    assert_int_equal(mode_of(lab_file(lab, "-wake")), 0700);

    DIR           *dir = opendir(lab_file(lab, "-wake"));
    struct dirent *entry;
    int            fifos = 0;
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%.32s", lab_file(lab, "-wake"), entry->d_name);
        assert_int_equal(mode_of(path), 0600);
        fifos++;
    }
    closedir(dir);
    assert_int_equal(fifos, 1);
}

static void for_the_owner_alone(void **state)
{
    struct lab   *lab = *state;
    const mode_t  masks[] = { 0, 022, 077, 0777 };
    struct player player;
    struct ask    ask;

    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(rmdir(lab->folder), 0);
        mode_t old = umask(masks[i]);
        player_open(&player);
        enter(&player, "x", MUTEX, &ask);
        umask(old);
        assert_int_equal(mode_of(lab->folder), 0700);
        check_modes(lab);
        player_close(&player);
        lab_close(lab);
        lab_open(lab);
    }
}

static void nothing_before_it_is_needed(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;

    player_open(&player);
    assert_int_equal(list(&player, NULL, &ask), 0);
    assert_int_equal(ask.count, 0);
    assert_int_equal(look(&player, "x", 1, &ask), 0);
    assert_int_equal(take_away(&player, "x", 1), HF_ENOTFOUND);
    assert_int_equal(leave(&player, "x", 1), 0);
    player_close(&player);
    assert_int_equal(lab_count(lab->folder), 0);
}

static void looking_leaves_no_session(void **state)
{
    struct lab   *lab = *state;
    struct player a, b;
    struct ask    ask;

    player_open(&a);
    enter(&a, "x", MUTEX, &ask);
    player_open(&b);
    assert_int_equal(list(&b, NULL, &ask), 0);
    assert_int_equal(ask.count, 1);
    struct ask refused = {
        .req = { .op = HF_ENTER, .name = "x", .id = 1, .only_free = true }
    };
    refused.req.shape = MUTEX;
    player_run(&b, &refused);
    assert_true(is_refused(&refused));
    assert_int_equal(lab_count(lab_file(lab, "-wake")), 1);
    player_close(&a);
    player_close(&b);
    assert_int_equal(lab_count(lab_file(lab, "-wake")), 0);
}

static void folders_of_the_default(void **state)
{
    struct lab   *lab = *state;
    char          url[256], top[128], *old = getenv("XDG_STATE_HOME");
    struct player player;
    struct ask    ask;

    old = old != NULL ? strdup(old) : NULL;
    snprintf(top, sizeof top, "%s/not/there/yet", lab->top);
    snprintf(url, sizeof url, "sqlite:%s/holdfast/locks.db", top);
    setenv("XDG_STATE_HOME", top, 1);
    promise_use(url);
    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    player_close(&player);
    assert_int_equal(mode_of(top), 0700);
    if (old != NULL)
        setenv("XDG_STATE_HOME", old, 1);
    else
        unsetenv("XDG_STATE_HOME");
    free(old);
}

static void no_trees_elsewhere(void **state)
{
    struct lab *lab = *state;
    char        url[256], errmsg[HF_ERRMSG_MAX];

    snprintf(url, sizeof url, "sqlite:%s/not/there/locks.db", lab->top);
    assert_int_equal(lab_try(url, errmsg), HF_ENOTFOUND);
    assert_non_null(strstr(errmsg, "/not/there"));
    assert_int_equal(lab_try("sqlite:/", errmsg), HF_EINVAL);
}

/* ---- What is not trusted ------------------------------------------------------------ */

static void a_symbolic_link(void **state)
{
    struct lab *lab = *state;

    assert_int_equal(symlink("/etc/passwd", lab->path), 0);
    must_refuse(lab, HF_EDENIED, "not a plain file");
    unlink(lab->path);
    assert_int_equal(mkdir(lab->path, 0700), 0);
    must_refuse(lab, HF_EDENIED, "not a plain file");
    rmdir(lab->path);

    assert_int_equal(symlink("/etc/passwd", lab_file(lab, "-live")), 0);
    must_refuse(lab, HF_EDENIED, "-live is not a plain file");
}

static void a_folder_behind_a_link_will_do(void **state)
{
    struct lab   *lab = *state;
    char          link[128], url[160];
    struct player player;
    struct ask    ask;

    snprintf(link, sizeof link, "%s/link", lab->top);
    snprintf(url, sizeof url, "sqlite:%s/locks.db", link);
    assert_int_equal(symlink(lab->folder, link), 0);
    promise_use(url);
    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    promise_use(lab->url);
    assert_int_equal(length(&player, "x"), 1);
    player_close(&player);
}

static void a_folder_others_may_write_to(void **state)
{
    struct lab *lab = *state;
    char        errmsg[HF_ERRMSG_MAX];

    chmod(lab->folder, 0770);
    assert_int_equal(lab_try(lab->url, errmsg), HF_EDENIED);
    assert_non_null(strstr(errmsg, "chmod go-w"));
    chmod(lab->folder, 0777);
    assert_int_equal(lab_try(lab->url, errmsg), HF_EDENIED);
    chmod(lab->folder, 01777);
    assert_int_equal(lab_try(lab->url, errmsg), 0);
}

static void a_file_of_another_user(void **state)
{
    struct lab *lab = *state;

    if (geteuid() != 0)
        skip(); /* only root can make one */
    write_file(lab->path, "");
    assert_int_equal(chown(lab->path, 65534, 65534), 0);
    must_refuse(lab, HF_EDENIED, "another user");
}

/* ---- What is no store ---------------------------------------------------------------- */

static void garbage(void **state)
{
    struct lab *lab = *state;
    char        text[2000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    write_file(lab->path, text);
    must_refuse(lab, HF_ECORRUPT, "is no database");
    struct stat st;
    assert_int_equal(stat(lab->path, &st), 0);
    assert_int_equal(st.st_size, sizeof text - 1);
}

static void a_damaged_store(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;

    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    player_close(&player);
    lab_sql(lab, "PRAGMA wal_checkpoint(TRUNCATE)");

    int  fd = open(lab->path, O_RDWR | O_CLOEXEC);
    char junk[4000];
    memset(junk, 0xa5, sizeof junk);
    assert_int_equal(pwrite(fd, junk, sizeof junk, 100), sizeof junk);
    close(fd);
    must_refuse(lab, HF_ECORRUPT, "damaged");
    must_refuse(lab, HF_ECORRUPT, "left as it is");
}

static void an_empty_file_will_do(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;

    write_file(lab->path, "");
    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    assert_true(is_granted(&ask));
    player_close(&player);
}

static void another_programs_database(void **state)
{
    struct lab *lab = *state;

    lab_sql(lab, "CREATE TABLE precious(x)");
    must_refuse(lab, HF_EUNSUPPORTED, "another program");
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM sqlite_schema"), 1);
}

static void one_from_the_future(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct ask    ask;

    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    player_close(&player);
    lab_sql(lab, "PRAGMA user_version = 99");
    must_refuse(lab, HF_EUNSUPPORTED, "newer");
}

/* ---- Where it cannot be ------------------------------------------------------------- */

static void as_nobody(struct child *parent)
{
    char          errmsg[HF_ERRMSG_MAX];
    struct player player;
    struct ask ask = { .req = { .op = HF_ENTER, .name = "x", .id = 1, .shape = MUTEX } };

    (void)parent;
    if (geteuid() == 0)
        must(setgid(65534) == 0 && setuid(65534) == 0);
    must(lab_try(promise_url(), errmsg) == 0);
    player_open(&player);
    must(player_run(&player, &ask) == HF_EDENIED);
    must(strstr(player.store->errmsg, "locks.db") != NULL);
    player_close(&player);
}

static void a_folder_we_may_not_write_to(void **state)
{
    struct lab  *lab = *state;
    struct child child;

    chmod(lab->top, 0755);
    chmod(lab->folder, 0555);
    child_start(&child, as_nobody);
    child_end(&child);
    chmod(lab->folder, 0700);
    assert_int_equal(lab_count(lab->folder), 0);
}

static void as_reader(struct child *parent)
{
    char errmsg[HF_ERRMSG_MAX];

    (void)parent;
    if (geteuid() == 0)
        must(setgid(65534) == 0 && setuid(65534) == 0);
    must(lab_try(promise_url(), errmsg) == HF_EDENIED);
    must(strstr(errmsg, "locks.db") != NULL);
}

static void a_store_we_may_not_write_to(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct child  child;
    struct ask    ask;

    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    chmod(lab->top, 0755);
    chmod(lab->folder, 0755);
    chmod(lab->path, 0444);
    chmod(lab_file(lab, "-live"), 0444);
    child_start(&child, as_reader);
    child_end(&child);
    player_close(&player);
}

static void on_a_network(void **state)
{
    (void)state;
    assert_string_equal(hf_sq_volume_name(0x6969), "NFS");
    assert_string_equal(hf_sq_volume_name(0xff534d42), "CIFS");
    assert_string_equal(hf_sq_volume_name(0xffffffffff534d42),
                        "CIFS"); /* 32-bit signed */
    assert_string_equal(hf_sq_volume_name(0x65735546), "FUSE");
    assert_string_equal(hf_sq_volume_name(0x01021997), "9p");
    assert_null(hf_sq_volume_name(0xef53));     /* ext4 */
    assert_null(hf_sq_volume_name(0x9123683e)); /* btrfs */
    assert_null(hf_sq_volume_name(0x58465342)); /* XFS */
    assert_null(hf_sq_volume_name(0x01021994)); /* tmpfs */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(for_the_owner_alone),
        TEST(nothing_before_it_is_needed),
        TEST(looking_leaves_no_session),
        TEST(folders_of_the_default),
        TEST(no_trees_elsewhere),
        TEST(a_symbolic_link),
        TEST(a_folder_behind_a_link_will_do),
        TEST(a_folder_others_may_write_to),
        TEST(a_file_of_another_user),
        TEST(garbage),
        TEST(a_damaged_store),
        TEST(an_empty_file_will_do),
        TEST(another_programs_database),
        TEST(one_from_the_future),
        TEST(a_folder_we_may_not_write_to),
        TEST(a_store_we_may_not_write_to),
        cmocka_unit_test(on_a_network),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
