/* urls.h - URLs of a store that its config must refuse, and say why: one line, without the
 * password, which is "hunter2" in all of them.
 */
#ifndef HF_TEST_UNIT_URLS_H
#define HF_TEST_UNIT_URLS_H

#include <stddef.h>
#include <sys/stat.h>

/* Parse a URL, and free what came of it: 0, or the code and the message. */
typedef int urls_parse(const char *text, char *errmsg);

/* Pairs: a URL, and what is said of it. */
void urls_refused(urls_parse *parse, const char *const (*cases)[2], size_t count);

/* What a file may not be that is to hold a password. */
struct urls_file {
    const char *text;
    mode_t      mode;
    const char *says;
};

/* `scheme`: "redis", for "redis://h?auth=FILE". */
void urls_no_secrets(urls_parse *parse, const char *scheme, const struct urls_file *cases,
                     size_t count);

/* The path of a file in a new folder; what goes there; and away with both. */
void urls_file_init(char path[160]);
void urls_file_write(const char *path, const char *text, mode_t mode);
void urls_file_remove(const char *path);

#endif
