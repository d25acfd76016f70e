/* home.h - where this user's files are. */
#ifndef HF_HOME_H
#define HF_HOME_H

/* The user's home: $HOME, or what the list of users says where that is not set, as in a
 * service of the system.  And where programs keep what they remember: $XDG_STATE_HOME, or
 * .local/state in the home.  Absolute paths, to be freed; NULL with errno: ENOENT if there
 * is none, or ENOMEM. */
char *hf_home(void);
char *hf_state_home(void);

#endif
