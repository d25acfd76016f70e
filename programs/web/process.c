/* process.c - see process.h. */
#include "process.h"

#include "prom.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct numbers {
    uint64_t user, system, start; /* clock ticks; start since boot */
    uint64_t virtual_bytes, resident_pages;
};

/* Reads /proc/self/stat, from the end of the name in brackets on. */
static bool read_stat(struct numbers *ret)
{
    char  text[1024] = "";
    FILE *file = fopen("/proc/self/stat", "re");

    if (file == NULL)
        return false;
    const char *line = fgets(text, sizeof text, file);
    fclose(file);
    const char *at = line != NULL ? strrchr(line, ')') : NULL;
    return at != NULL &&
           sscanf(at + 1,
                  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
                  " %*d %*d %*d %*d %*d %*d %" SCNu64 " %" SCNu64 " %" SCNu64,
                  &ret->user, &ret->system, &ret->start, &ret->virtual_bytes,
                  &ret->resident_pages) == 5;
}

/* When the machine started, seconds since 1970; 0: not known. */
static uint64_t boot_time(void)
{
    char     line[256];
    uint64_t time = 0;
    FILE    *file = fopen("/proc/stat", "re");

    while (file != NULL && time == 0 && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "btime %" SCNu64, &time) != 1)
            time = 0;
    if (file != NULL)
        fclose(file);
    return time;
}

static uint64_t count_fds(void)
{
    DIR     *folder = opendir("/proc/self/fd");
    uint64_t count = 0;

    if (folder == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count > 0 ? count - 1 : 0; /* opendir() has one, too */
}

static void write_one(FILE *out, const char *name, const char *type, const char *help,
                      double value)
{
    prom_head(out, name, type, help);
    prom_value(out, name, NULL, value);
}

void process_write(FILE *out)
{
    struct numbers numbers;
    struct rlimit  limit;
    double         ticks = (double)sysconf(_SC_CLK_TCK);

    if (read_stat(&numbers)) {
        write_one(out, "process_cpu_seconds_total", "counter",
                  "Processor time of this program.",
                  (double)(numbers.user + numbers.system) / ticks);
        write_one(out, "process_resident_memory_bytes", "gauge",
                  "Resident memory of this program.",
                  (double)numbers.resident_pages * (double)sysconf(_SC_PAGESIZE));
        write_one(out, "process_virtual_memory_bytes", "gauge",
                  "Virtual memory of this program.", (double)numbers.virtual_bytes);
        write_one(out, "process_start_time_seconds", "gauge",
                  "When this program started, since 1970.",
                  (double)boot_time() + (double)numbers.start / ticks);
    }
    write_one(out, "process_open_fds", "gauge", "Open file descriptors.",
              (double)count_fds());
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        write_one(out, "process_max_fds", "gauge", "Limit of open file descriptors.",
                  (double)limit.rlim_cur);
}
