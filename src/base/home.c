/* home.c - see home.h. */
#include "base/home.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM 16384 /* for an entry in the user database */

static char *home_of(uid_t user)
{
    struct passwd entry, *found = NULL;
    char         *room = malloc(ROOM), *home = NULL;

    if (room == NULL)
        return NULL;
    errno = 0;
    getpwuid_r(user, &entry, room, ROOM, &found);
    if (found != NULL && found->pw_dir != NULL && found->pw_dir[0] == '/')
        home = strdup(found->pw_dir);
    else
        errno = ENOENT;
    free(room);
    return home;
}

char *hf_home(void)
{
    const char *home = secure_getenv("HOME");

    return home != NULL && home[0] == '/' ? strdup(home) : home_of(geteuid());
}

char *hf_state_home(void)
{
    const char *state = secure_getenv("XDG_STATE_HOME");
    char       *home, *path = NULL;

    if (state != NULL && state[0] == '/')
        return strdup(state);
    home = hf_home();
    if (home != NULL && asprintf(&path, "%s/.local/state", home) < 0)
        path = NULL;
    free(home);
    return path;
}
