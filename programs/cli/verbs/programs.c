/* programs.c - verbs that are programs of their own: top, web, bench.
 *
 * The command does without their code and the libraries that they need.  They are
 * installed next to it, as holdfast-top, holdfast-web and holdfast-bench, and get the
 * options as they were given.  The URL goes by the environment, since it may have a
 * password.
 */
#include "cli_options.h"

#include "complain.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 16

struct words {
    char *word[WORDS_MAX];
    int   count;
};

/* An option that was given; `value` NULL: it takes none. */
static void add_option(struct words *words, bool given, const char *option,
                       const char *value)
{
    if (!given)
        return;
    words->word[words->count++] = (char *)option;
    if (value != NULL)
        words->word[words->count++] = (char *)value;
}

/* The path of this program, with `-name` behind it; false: it is not known. */
static bool find_program(const char *name, char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);

    if (n <= 0)
        return false;
    path[n] = '\0';
    char *base = strrchr(path, '/');
    if (base == NULL)
        return false;
    size_t room = size - (size_t)(base + 1 - path);
    int    length = snprintf(base + 1, room, "holdfast-%s", name);
    return length > 0 && (size_t)length < room;
}

/* Returns only if it fails. */
static int start_program(const struct args *args, const char *name, struct words *words)
{
    char path[PATH_MAX];

    if (session_refuse_withheld(args))
        return EXIT_USAGE;
    if (args->url != NULL && setenv("HOLDFAST_URL", args->url, 1) < 0)
        return complain_errno("HOLDFAST_URL");
    if (!find_program(name, path, sizeof path))
        return complain_errno("/proc/self/exe");
    for (int fd = 0; fd <= 2; fd++)
        fcntl(fd, F_SETFD, 0); /* main() may have occupied them: it needs that, too */
    words->word[0] = path;
    words->word[words->count] = NULL;
    execv(path, words->word);
    if (errno == ENOENT)
        complain("%s: there is no program %s; install the package holdfast%s, or build "
                 "Holdfast with it",
                 name, path, strcmp(name, "web") == 0 ? "-web" : "");
    else
        complain("%s: cannot start %s: %s", name, path, strerror(errno));
    return EXIT_NOT_FOUND;
}

int top_main(const struct args *args)
{
    struct words words = { .count = 1 };

    add_option(&words, args->once, "--once", NULL);
    add_option(&words, args->json, "--json", NULL);
    add_option(&words, args->operand[0] != NULL, "--", args->operand[0]);
    return start_program(args, "top", &words);
}

int web_main(const struct args *args)
{
    struct words words = { .count = 1 };

    add_option(&words, args->listen != NULL, "--listen", args->listen);
    add_option(&words, args->host != NULL, "--host", args->host);
    add_option(&words, args->metrics != NULL, "--metrics", args->metrics);
    add_option(&words, args->allow_ask, "--allow-ask", NULL);
    add_option(&words, args->allow_break, "--allow-break", NULL);
    return start_program(args, "web", &words);
}

int bench_main(const struct args *args)
{
    struct words words = { .count = 1 };

    add_option(&words, args->clients != NULL, "--clients", args->clients);
    add_option(&words, args->time != NULL, "--time", args->time);
    add_option(&words, args->json, "--json", NULL);
    add_option(&words, args->operand[0] != NULL, "--", args->operand[0]);
    return start_program(args, "bench", &words);
}
