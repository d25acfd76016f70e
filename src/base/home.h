/* home.h - where the files of this user are, and the file of the whole machine. */
#ifndef HF_HOME_H
#define HF_HOME_H

/* The user's home: $HOME or, if that is not set, as in a system service, the one in the
 * user database.  And the folder for state: $XDG_STATE_HOME, or .local/state in the
 * home.  A program with more rights than its caller ignores the environment.  Absolute
 * paths, to be freed; NULL with errno: ENOENT if there is none, or ENOMEM. */
char *hf_home(void);
char *hf_state_home(void);

/* The file with the locks of the whole machine, and its default group.  The path does
 * not depend on the prefix that Holdfast is installed in, or two installations would
 * not exclude each other.  No variable changes it.  Any other URL with this path means
 * the same store, as does the default one with XDG_STATE_HOME=/var/lib. */
#define HF_SYSTEM_FILE  "/var/lib/holdfast/locks.db"
#define HF_SYSTEM_GROUP "holdfast"

#endif
