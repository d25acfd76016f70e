/* refused_urls.h - URLs that a store must refuse, with a message of one line that does
 * not show the password, which is "hunter2" in all of them.
 */
#ifndef HF_TEST_UNIT_URLS_H
#define HF_TEST_UNIT_URLS_H

#include <stddef.h>
#include <sys/stat.h>

/* Parse a URL, and free the result: 0, or the code and the message. */
typedef int url_parser(const char *text, char *errmsg);

/* Pairs of a URL and a part of its message. */
void refused_urls(url_parser *parse, const char *const (*cases)[2], size_t count);

/* A password file that must be refused. */
struct refused_file {
    const char *text;
    mode_t      mode;
    const char *says;
};

/* `scheme`: "redis", for "redis://h?auth=FILE". */
void refused_secret_files(url_parser *parse, const char *scheme,
                          const struct refused_file *cases, size_t count);

/* The path of a file in a new folder; write it; remove both. */
void secret_file_init(char path[160]);
void secret_file_write(const char *path, const char *text, mode_t mode);
void secret_file_remove(const char *path);

#endif
