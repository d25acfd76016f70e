/* file_access.c - the files of the file store: their modes, which files we refuse, and
 * the messages about those. */
/* one thread */
#include "lib/temp_store.h"

#include "base/volume.h"
#include "holdfast.h"
#include "store/sqlite/files/files.h"

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

/* It must fail with this code, name the file, and not change it. */
static void must_refuse(const struct temp_store *temp, int code, const char *part)
{
    char errmsg[HF_ERRMSG_MAX];

    assert_int_equal(temp_try_open(temp->url, errmsg), code);
    assert_non_null(strstr(errmsg, "locks.db"));
    if (strstr(errmsg, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", errmsg, part);
}

/* ---- Files that we make ------------------------------------------------------ */

static void check_modes(const struct temp_store *temp)
{
    char path[256];

    assert_int_equal(mode_of(temp->path), 0600);
    assert_int_equal(mode_of(temp_file(temp, "-wal")), 0600);
    assert_int_equal(mode_of(temp_file(temp, "-shm")), 0600);
    assert_int_equal(mode_of(temp_file(temp, "-live")), 0600);
    assert_int_equal(mode_of(temp_file(temp, "-wake")), 0700);

    DIR           *dir = opendir(temp_file(temp, "-wake"));
    struct dirent *entry;
    int            fifos = 0;
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%.32s", temp_file(temp, "-wake"), entry->d_name);
        assert_int_equal(mode_of(path), 0600);
        fifos++;
    }
    closedir(dir);
    assert_int_equal(fifos, 1);
}

static void files_are_private_to_their_owner(void **state)
{
    struct temp_store *temp = *state;
    const mode_t       masks[] = { 0, 022, 077, 0777 };
    struct player      player;
    struct request     request;

    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(rmdir(temp->folder), 0);
        mode_t old = umask(masks[i]);
        player_open(&player);
        enter(&player, "x", MUTEX, &request);
        umask(old);
        assert_int_equal(mode_of(temp->folder), 0700);
        check_modes(temp);
        player_close(&player);
        temp_close(temp);
        temp_open(temp);
    }
}

static void files_are_made_when_first_needed(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct request     request;

    player_open(&player);
    assert_int_equal(list(&player, NULL, &request), 0);
    assert_int_equal(request.count, 0);
    assert_int_equal(look(&player, "x", 1, &request), 0);
    assert_int_equal(take_away(&player, "x", 1), HF_ENOTFOUND);
    assert_int_equal(leave(&player, "x", 1), 0);
    player_close(&player);
    assert_int_equal(count_files(temp->folder), 0);
}

static void listing_starts_no_session(void **state)
{
    struct temp_store *temp = *state;
    struct player      a, b;
    struct request     request;

    player_open(&a);
    enter(&a, "x", MUTEX, &request);
    player_open(&b);
    assert_int_equal(list(&b, NULL, &request), 0);
    assert_int_equal(request.count, 1);
    struct request refused = {
        .req = { .op = HF_ENTER, .name = "x", .id = 1, .only_free = true }
    };
    refused.req.shape = MUTEX;
    player_run(&b, &refused);
    assert_true(is_refused(&refused));
    assert_int_equal(count_files(temp_file(temp, "-wake")), 1);
    player_close(&a);
    player_close(&b);
    assert_int_equal(count_files(temp_file(temp, "-wake")), 0);
}

static void folders_of_the_default_store_are_made(void **state)
{
    struct temp_store *temp = *state;
    char               url[256], top[128], *old = getenv("XDG_STATE_HOME");
    struct player      player;
    struct request     request;

    old = old != NULL ? strdup(old) : NULL;
    snprintf(top, sizeof top, "%s/not/there/yet", temp->top);
    snprintf(url, sizeof url, "sqlite:%s/holdfast/locks.db", top);
    setenv("XDG_STATE_HOME", top, 1);
    promise_use(url);
    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    player_close(&player);
    assert_int_equal(mode_of(top), 0700);
    if (old != NULL)
        setenv("XDG_STATE_HOME", old, 1);
    else
        unsetenv("XDG_STATE_HOME");
    free(old);
}

static void other_missing_folders_are_not_made(void **state)
{
    struct temp_store *temp = *state;
    char               url[256], errmsg[HF_ERRMSG_MAX];

    snprintf(url, sizeof url, "sqlite:%s/not/there/locks.db", temp->top);
    assert_int_equal(temp_try_open(url, errmsg), HF_ENOTFOUND);
    assert_non_null(strstr(errmsg, "/not/there"));
    assert_int_equal(temp_try_open("sqlite:/", errmsg), HF_EINVAL);
}

/* ---- Files of other users ---------------------------------------------------- */

static void symbolic_link_is_refused(void **state)
{
    struct temp_store *temp = *state;

    assert_int_equal(symlink("/etc/passwd", temp->path), 0);
    must_refuse(temp, HF_EDENIED, "not a plain file");
    unlink(temp->path);
    assert_int_equal(mkdir(temp->path, 0700), 0);
    must_refuse(temp, HF_EDENIED, "not a plain file");
    rmdir(temp->path);

    assert_int_equal(symlink("/etc/passwd", temp_file(temp, "-live")), 0);
    must_refuse(temp, HF_EDENIED, "-live is not a plain file");
}

static void folder_behind_a_link_is_accepted(void **state)
{
    struct temp_store *temp = *state;
    char               link[128], url[160];
    struct player      player;
    struct request     request;

    snprintf(link, sizeof link, "%s/link", temp->top);
    snprintf(url, sizeof url, "sqlite:%s/locks.db", link);
    assert_int_equal(symlink(temp->folder, link), 0);
    promise_use(url);
    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    promise_use(temp->url);
    assert_int_equal(length(&player, "x"), 1);
    player_close(&player);
}

static void folder_that_others_can_write_to_is_refused(void **state)
{
    struct temp_store *temp = *state;
    char               errmsg[HF_ERRMSG_MAX];

    chmod(temp->folder, 0770);
    assert_int_equal(temp_try_open(temp->url, errmsg), HF_EDENIED);
    assert_non_null(strstr(errmsg, "chmod go-w"));
    chmod(temp->folder, 0777);
    assert_int_equal(temp_try_open(temp->url, errmsg), HF_EDENIED);
    chmod(temp->folder, 01777);
    assert_int_equal(temp_try_open(temp->url, errmsg), 0);
}

static void file_of_another_user_is_refused(void **state)
{
    struct temp_store *temp = *state;

    if (geteuid() != 0)
        skip(); /* only root can make one */
    write_file(temp->path, "");
    assert_int_equal(chown(temp->path, 65534, 65534), 0);
    must_refuse(temp, HF_EDENIED, "another user");
}

/* ---- Files that are no store ------------------------------------------------- */

static void file_that_is_no_database_is_refused(void **state)
{
    struct temp_store *temp = *state;
    char               text[2000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    write_file(temp->path, text);
    must_refuse(temp, HF_ECORRUPT, "is not a database");
    struct stat st;
    assert_int_equal(stat(temp->path, &st), 0);
    assert_int_equal(st.st_size, sizeof text - 1);
}

static void damaged_store_is_refused_and_untouched(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct request     request;

    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    player_close(&player);
    temp_sql(temp, "PRAGMA wal_checkpoint(TRUNCATE)");

    int  fd = open(temp->path, O_RDWR | O_CLOEXEC);
    char junk[4000];
    memset(junk, 0xa5, sizeof junk);
    assert_int_equal(pwrite(fd, junk, sizeof junk, 100), sizeof junk);
    close(fd);
    must_refuse(temp, HF_ECORRUPT, "damaged");
    must_refuse(temp, HF_ECORRUPT, "was not changed");
}

static void empty_file_becomes_a_store(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct request     request;

    write_file(temp->path, "");
    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    assert_true(is_granted(&request));
    player_close(&player);
}

static void database_of_another_program_is_refused(void **state)
{
    struct temp_store *temp = *state;

    temp_sql(temp, "CREATE TABLE precious(x)");
    must_refuse(temp, HF_EUNSUPPORTED, "another program");
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM sqlite_schema"), 1);
}

static void store_of_a_newer_version_is_refused(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct request     request;

    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    player_close(&player);
    temp_sql(temp, "PRAGMA user_version = 99");
    must_refuse(temp, HF_EUNSUPPORTED, "newer");
}

/* ---- Folders that cannot be used --------------------------------------------- */

static void as_nobody(struct child *parent)
{
    char           errmsg[HF_ERRMSG_MAX];
    struct player  player;
    struct request request = {
        .req = { .op = HF_ENTER, .name = "x", .id = 1, .shape = MUTEX }
    };

    (void)parent;
    if (geteuid() == 0)
        must(setgid(65534) == 0 && setuid(65534) == 0);
    must(temp_try_open(promise_url(), errmsg) == 0);
    player_open(&player);
    must(player_run(&player, &request) == HF_EDENIED);
    must(strstr(player.store->errmsg, "locks.db") != NULL);
    player_close(&player);
}

static void read_only_folder_is_refused(void **state)
{
    struct temp_store *temp = *state;
    struct child       child;

    chmod(temp->top, 0755);
    chmod(temp->folder, 0555);
    child_start(&child, as_nobody);
    child_end(&child);
    chmod(temp->folder, 0700);
    assert_int_equal(count_files(temp->folder), 0);
}

static void as_reader(struct child *parent)
{
    char errmsg[HF_ERRMSG_MAX];

    (void)parent;
    if (geteuid() == 0)
        must(setgid(65534) == 0 && setuid(65534) == 0);
    must(temp_try_open(promise_url(), errmsg) == HF_EDENIED);
    must(strstr(errmsg, "locks.db") != NULL);
}

static void read_only_store_is_refused(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct child       child;
    struct request     request;

    player_open(&player);
    enter(&player, "x", MUTEX, &request);
    chmod(temp->top, 0755);
    chmod(temp->folder, 0755);
    chmod(temp->path, 0444);
    chmod(temp_file(temp, "-live"), 0444);
    child_start(&child, as_reader);
    child_end(&child);
    player_close(&player);
}

static void network_file_systems_are_recognized(void **state)
{
    (void)state;
    assert_string_equal(hf_unsafe_volume(0x6969), "NFS");
    assert_string_equal(hf_unsafe_volume(0xff534d42), "CIFS");
    assert_string_equal(hf_unsafe_volume(0xffffffffff534d42), "CIFS"); /* 32-bit signed */
    assert_string_equal(hf_unsafe_volume(0x65735546), "FUSE");
    assert_string_equal(hf_unsafe_volume(0x01021997), "9p");
    assert_null(hf_unsafe_volume(0xef53));     /* ext4 */
    assert_null(hf_unsafe_volume(0x9123683e)); /* btrfs */
    assert_null(hf_unsafe_volume(0x58465342)); /* XFS */
    assert_null(hf_unsafe_volume(0x01021994)); /* tmpfs */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(files_are_private_to_their_owner),
        TEST(files_are_made_when_first_needed),
        TEST(listing_starts_no_session),
        TEST(folders_of_the_default_store_are_made),
        TEST(other_missing_folders_are_not_made),
        TEST(symbolic_link_is_refused),
        TEST(folder_behind_a_link_is_accepted),
        TEST(folder_that_others_can_write_to_is_refused),
        TEST(file_of_another_user_is_refused),
        TEST(file_that_is_no_database_is_refused),
        TEST(damaged_store_is_refused_and_untouched),
        TEST(empty_file_becomes_a_store),
        TEST(database_of_another_program_is_refused),
        TEST(store_of_a_newer_version_is_refused),
        TEST(read_only_folder_is_refused),
        TEST(read_only_store_is_refused),
        cmocka_unit_test(network_file_systems_are_recognized),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
