/* held.c - what the runs around us hold; see nested.h. */
#include "run/nested.h"

#include "guard/guard.h"
#include "guard/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELD     "HOLDFAST_HELD"
#define HOST_MAX 256

/* ---- As /proc shows them ------------------------------------------------------- */

#define GENERATIONS_MAX 1000 /* a tree that changes while we look may have a circle */

/* Is `word` an argument of process `pid`?  A process of another container may have the
 * same host name and pid as a run around us, but hardly the same command. */
static bool has_argument(pid_t pid, const char *word)
{
    char   path[64], *argument = NULL;
    size_t room = 0;
    bool   found = false;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (!found && getdelim(&argument, &room, '\0', file) > 0)
        found = strcmp(argument, word) == 0;
    free(argument);
    fclose(file);
    return found;
}

/* The run whose guardian has the parent `pid`: that may be the outer guardian. */
static pid_t holder_above(pid_t pid)
{
    char  name[16] = "";
    pid_t parent = tree_parent(pid, name);

    return strcmp(name, GUARD_OUTER_NAME) == 0 ? parent : pid;
}

static bool around_us(const char *name, pid_t pid)
{
    pid_t at = getppid();

    for (int i = 0; at > 0 && i < GENERATIONS_MAX; i++) {
        char  own[16] = "";
        pid_t parent = tree_parent(at, own);
        pid_t holder = strcmp(own, GUARD_NAME) == 0 ? holder_above(parent) : 0;
        if (holder > 0 && (pid == 0 || pid == holder) && has_argument(holder, name))
            return true;
        at = parent;
    }
    return false;
}

/* ---- As HOLDFAST_HELD has them -------------------------------------------------- */

/* A name or host with %XX; free it.  NULL: no memory. */
static char *escape(const char *text)
{
    char *escaped = malloc(3 * strlen(text) + 1), *to = escaped;

    if (escaped == NULL)
        return NULL;
    for (; *text != '\0'; text++)
        if ((unsigned char)*text <= ' ' || *text == '%' || *text == '/')
            to += sprintf(to, "%%%02X", (unsigned char)*text);
        else
            *to++ = *text;
    *to = '\0';
    return escaped;
}

/* A place as HOLDFAST_HELD has it; free it.  NULL: no memory. */
static char *compose(const char *name, uint64_t token, const char *host, int64_t pid)
{
    char *field = escape(name), *where = escape(host), *place = NULL;
    bool  ready = field != NULL && where != NULL;

    if (!ready ||
        asprintf(&place, "%s/%" PRIu64 "/%" PRId64 "@%s", field, token, pid, where) < 0)
        place = NULL;
    free(field);
    free(where);
    return place;
}

/* Is it one of the words of `words`? */
static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, word, length) == 0 && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

bool held_name(const char *name)
{
    const char *held = getenv(HELD);
    char       *field = escape(name);
    size_t      length = field != NULL ? strlen(field) : 0;
    bool        found = false;

    for (; held != NULL && field != NULL && !found; held = strchr(held, ' ')) {
        held += *held == ' ';
        found = strncmp(held, field, length) == 0 && held[length] == '/';
    }
    free(field);
    return found || around_us(name, 0);
}

static const char *this_host(char host[HOST_MAX])
{
    host[0] = host[HOST_MAX - 1] = '\0';
    gethostname(host, HOST_MAX - 1);
    return host;
}

bool held_place(const char *name, uint64_t token, const char *host, int64_t pid)
{
    const char *held = getenv(HELD);
    char       *place = held != NULL ? compose(name, token, host, pid) : NULL;
    char        own[HOST_MAX];
    bool        found = place != NULL && has_word(held, place);

    free(place);
    return found ||
           (pid > 0 && strcmp(host, this_host(own)) == 0 && around_us(name, (pid_t)pid));
}

int held_add(const char *name, uint64_t token, int64_t pid)
{
    const char *outer = getenv(HELD);
    char        host[HOST_MAX], *all = NULL;
    char       *place = compose(name, token, this_host(host), pid);
    bool        nested = outer != NULL && *outer != '\0';
    int         r = place != NULL && asprintf(&all, "%s%s%s", nested ? outer : "",
                                      nested ? " " : "", place) >= 0
                        ? setenv(HELD, all, 1)
                        : -1;
    free(place);
    free(all);
    return r;
}
