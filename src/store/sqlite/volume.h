/* volume.h - file systems on which locks do not reach everybody.
 *
 * The store needs locks and shared memory that all its users see.  On a network
 * file system users on other machines, or behind another mount, may not.
 */
#ifndef HF_SQLITE_VOLUME_H
#define HF_SQLITE_VOLUME_H

/* 0, or HF_EUNSUPPORTED and a text (HF_ERRMSG_MAX bytes). */
int hf_sq_volume_check(const char *folder, char *errmsg);

/* The name of a file system type that must not be used, else NULL. */
const char *hf_sq_volume_name(unsigned long type);

#endif
