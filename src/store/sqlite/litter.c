/* litter.c - FIFOs that dead sessions left: nobody reads them. */
#include "store/sqlite/inner.h"

#include "base/clock.h"
#include "base/fork.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TESTS_ALWAYS 32 /* per session that starts */
#define TESTS_MAX    1024
#define UNBORN       60 /* seconds after which nobody will come to read it */

static bool is_stale(int folder, const char *entry)
{
    struct stat st;

    hf_low_take();
    int fd =
        openat(folder, entry, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
    hf_low_give();
    if (fd >= 0) {
        close(fd);
        return false;
    }
    if (errno != ENXIO)
        return false;
    if (entry[0] != '.')
        return true;
    return fstatat(folder, entry, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           hf_wall_us() / 1000000 - st.st_mtime > UNBORN;
}

/* A few are always tested; of many, those that begin with the same digit as we
 * do, which is a different one every time. */
static bool is_our_share(const struct hf_sq *sq, const char *entry, size_t tested)
{
    char digit = "0123456789abcdef"[sq->sid % 16];

    return tested < TESTS_ALWAYS ||
           (tested < TESTS_MAX && entry[strlen(entry) - 1] == digit);
}

static DIR *read_wake(const struct hf_sq *sq)
{
    hf_low_take();
    int  folder = hf_sq_files_open_wake(&sq->files);
    DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;

    if (dir == NULL && folder >= 0)
        close(folder);
    hf_low_give();
    return dir;
}

void hf_sq_fifo_count(const struct hf_sq *sq, size_t *all, size_t *stale)
{
    DIR           *dir = read_wake(sq);
    struct dirent *entry;

    *all = *stale = 0;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        ++*all;
        *stale += *all <= TESTS_MAX && is_stale(dirfd(dir), entry->d_name);
    }
    if (dir != NULL)
        closedir(dir);
}

size_t hf_sq_fifo_clean(struct hf_sq *sq)
{
    DIR           *dir = read_wake(sq);
    size_t         tested = 0, stale = 0;
    struct dirent *entry;

    if (dir == NULL)
        return 0;
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!is_our_share(sq, entry->d_name, tested))
            continue;
        tested++;
        if (!is_stale(dirfd(dir), entry->d_name))
            continue;
        unlinkat(dirfd(dir), entry->d_name, 0);
        stale++;
    }
    closedir(dir);
    return stale;
}
