/* store_files.c - see store_files.h. */
#include "sqlite/lib/store_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int open_live(const struct temp_store *temp)
{
    int fd = open(temp_file(temp, "-live"), O_RDWR | O_CLOEXEC);

    must(fd >= 0);
    return fd;
}

int take_write_lock(const struct temp_store *temp)
{
    int fd = open_live(temp);

    must(flock(fd, LOCK_EX) == 0);
    return fd;
}

int take_liveness_lock(const struct temp_store *temp, uint64_t seq)
{
    struct flock lock = { .l_type = F_WRLCK, .l_start = (off_t)seq, .l_len = 1 };
    int          fd = open_live(temp);

    must(fcntl(fd, F_OFD_SETLK, &lock) == 0);
    return fd;
}

struct hf_sq_header read_header(const struct temp_store *temp)
{
    struct hf_sq_header header;
    int                 fd = open_live(temp);

    must(pread(fd, &header, sizeof header, 0) == sizeof header);
    close(fd);
    return header;
}

void write_header(const struct temp_store *temp, const struct hf_sq_header *header)
{
    int fd = open_live(temp);

    must(pwrite(fd, header, sizeof *header, 0) == sizeof *header);
    close(fd);
}

void find_fifo(const struct temp_store *temp, char ret[32])
{
    DIR           *dir = opendir(temp_file(temp, "-wake"));
    struct dirent *entry;

    must(dir != NULL);
    ret[0] = '\0';
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            snprintf(ret, 32, "%.31s", entry->d_name);
    closedir(dir);
    must(strlen(ret) == 16);
}
