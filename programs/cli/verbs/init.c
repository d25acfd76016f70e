/* init.c - init: make the schema, chroot or files that a store needs.
 *
 * The first client makes them, if it is permitted to.  This verb is for stores where
 * clients are not, and for people who want to have it done, or to see it, beforehand.
 */
#include "complain.h"
#include "session.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SCHEME_MAX 32

/* The scheme of the store. */
static void find_scheme(const struct args *args, char ret[SCHEME_MAX])
{
    const char *url = args->url != NULL ? args->url : getenv("HOLDFAST_URL");

    if (url == NULL)
        url = "sqlite:";
    snprintf(ret, SCHEME_MAX, "%.*s", (int)strcspn(url, ":"), url);
}

/* A file as well: the machine's. */
static bool is_system(const char *scheme)
{
    return strcmp(scheme, "system") == 0;
}

/* Opening a session makes the files, or the chroot. */
static bool is_made_by_coming(const char *scheme)
{
    return strcmp(scheme, "sqlite") == 0 || is_system(scheme) ||
           strcmp(scheme, "zk") == 0 || strcmp(scheme, "zks") == 0;
}

/* The users who may use it, by the group of the file. */
static void tell_system(const char *where)
{
    const char         *path = where + strcspn(where, "/");
    size_t              length = strcspn(path, "?");
    char               *file = strndup(path, length);
    struct stat         st;
    const struct group *group = NULL;

    if (file != NULL && stat(file, &st) == 0)
        group = getgrgid(st.st_gid);
    printf("system: %.*s exists, for root and the members of ", (int)length, path);
    if (group != NULL)
        printf("group %s\n", group->gr_name);
    else
        printf("its group\n");
    free(file);
}

static int tell_ready(const struct args *args, struct hf_client *client,
                      const struct hf_report *report)
{
    char scheme[SCHEME_MAX];

    (void)report;
    int r = hf_lifeline(client, NULL, 0); /* a session: that makes the files, too */
    if (r < 0)
        return complain_failure(client, r);
    find_scheme(args, scheme);
    if (is_system(scheme))
        tell_system(hf_where(client));
    else
        printf("%s is ready for use\n", hf_where(client));
    return 0;
}

/* The library knows what is wrong with it. */
static int refuse_empty(const struct args *args)
{
    char text[512] = "";

    int r = hf_load(args->url, text, sizeof text);
    complain("%s", text);
    return exit_for(r);
}

int init_main(const struct args *args)
{
    char  scheme[SCHEME_MAX];
    char *sql;

    find_scheme(args, scheme);
    if (scheme[0] == '\0')
        return refuse_empty(args);
    if (args->print && args->url == NULL && getenv("HOLDFAST_URL") == NULL) {
        complain("SQL for which store? Add --url postgres: or --url mariadb:");
        return EXIT_USAGE;
    }
    if (args->print && is_system(scheme)) {
        complain("there is no SQL for system:; `sudo holdfast init --system` creates it");
        return EXIT_USAGE;
    }
    int r = hf_schema(scheme, args->grant, &sql);
    if (r == HF_EUNSUPPORTED)
        complain("no store of kind \"%s:\" is built in; there are: %s", scheme,
                 hf_stores());
    else if (r < 0)
        complain("%s", hf_strerror(r));
    if (r < 0)
        return exit_for(r);
    bool connect = !args->print && (sql != NULL || is_made_by_coming(scheme));
    if (args->print && sql != NULL)
        fputs(sql, stdout);
    else if (!connect)
        printf("%s%s: needs no preparation\n", args->print ? "-- " : "", scheme);
    free(sql);
    return connect ? session_look(args, NULL, tell_ready) : 0;
}
