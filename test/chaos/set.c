/* set.c - see set.h. */
#include "set.h"
#include "fence.h"
#include "worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void path_of(const struct set *set, const struct turns *history,
                    const char *ending, char *path, size_t size)
{
    snprintf(path, size, "%s/%s.set%s", history->folder, set->lock, ending);
}

/* The text of the file; an empty one if there is no file yet. */
static char *read_text(const char *path)
{
    struct stat stat = { 0 };
    int         fd = open(path, O_RDONLY | O_CLOEXEC);

    must(fd < 0 || fstat(fd, &stat) == 0, "set", "cannot be read");
    char *text = calloc(1, (size_t)stat.st_size + 1);
    must(text != NULL && (fd < 0 || read(fd, text, (size_t)stat.st_size) == stat.st_size),
         "set", "cannot be read");
    if (fd >= 0)
        close(fd);
    return text;
}

/* Without the claim, an older holder could still write between our reading and our writing. */
bool set_begin(struct set *set, struct turns *history)
{
    char path[4096];

    if (set->kind == FENCED_SET && !write_down_write(history, set->fence, set->token))
        return false;
    path_of(set, history, "", path, sizeof path);
    set->text = read_text(path);
    return true;
}

void set_finish(struct set *set, struct turns *history)
{
    char path[4096], new_path[sizeof path], ending[80];
    bool ok;

    path_of(set, history, "", path, sizeof path);
    snprintf(ending, sizeof ending, ".%s", history->who);
    path_of(set, history, ending, new_path, sizeof new_path);
    FILE *file = fopen(new_path, "we");
    must(file != NULL, "set", "cannot be written");
    fprintf(file, "%s%s/%ld\n", set->text, history->who, history->turn);
    must(fclose(file) == 0, "set", "cannot be written");
    free(set->text);
    if (set->kind == FENCED_SET)
        ok = write_down_rename(history, set->fence, set->token, new_path, path);
    else
        ok = rename(new_path, path) == 0;
    turns_add(history, "add", turns_now(),
              ",\"lock\":\"%s\",\"element\":\"%s/%ld\",\"fenced\":%s,\"ok\":%s",
              set->lock, history->who, history->turn,
              set->kind == FENCED_SET ? "true" : "false", ok ? "true" : "false");
}
