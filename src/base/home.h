/* home.h - where this user's files are, and that of all users. */
#ifndef HF_HOME_H
#define HF_HOME_H

/* The user's home: $HOME or, if that is not set, as in a system service, the one in the
 * user database.  A program with more rights than its caller goes by the latter alone.  And the folder for state: $XDG_STATE_HOME, or .local/state in the home.
 * Absolute paths, to be freed; NULL with errno: ENOENT if there is none, or ENOMEM. */
char *hf_home(void);
char *hf_state_home(void);

/* The file with the locks of the whole machine, and the group that shares it unless
 * another was named.  Its place is the same whatever prefix Holdfast is installed in, or two
 * copies of it would not exclude each other.  No variable leads system: elsewhere.  With
 * XDG_STATE_HOME=/var/lib the default store is this one, by its path: as with every path that
 * leads there, it is then used as system: is. */
#define HF_SYSTEM_FILE  "/var/lib/holdfast/locks.db"
#define HF_SYSTEM_GROUP "holdfast"

#endif
