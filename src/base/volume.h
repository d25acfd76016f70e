/* volume.h - file systems on which locks in files are not safe. */
#ifndef HF_VOLUME_H
#define HF_VOLUME_H

/* The name of a file system type (statfs(2)) that we refuse, else NULL.  All users of a
 * file must see its locks; on a network file system those on other machines, or behind
 * another mount, may not. */
const char *hf_unsafe_volume(unsigned long type);

#endif
