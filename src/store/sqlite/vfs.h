/* vfs.h - how SQLite reaches files: its own way, with less to reach. */
#ifndef HF_SQLITE_VFS_H
#define HF_SQLITE_VFS_H

/* The name to open databases with, for sqlite3_open_v2().  NULL: this SQLite has no "unix",
 * or there is no memory. */
const char *hf_sq_vfs(void);

#endif
