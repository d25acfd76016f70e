/* home.h - where this user's files are. */
#ifndef HF_HOME_H
#define HF_HOME_H

/* The user's home: $HOME or, if that is not set, as in a system service, the one in the
 * user database.  And the folder for state: $XDG_STATE_HOME, or .local/state in the home.
 * Absolute paths, to be freed; NULL with errno: ENOENT if there is none, or ENOMEM. */
char *hf_home(void);
char *hf_state_home(void);

#endif
