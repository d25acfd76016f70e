/* log.h - the log is written by half as many calls.
 *
 * SQLite writes a page to its log by two calls: 24 bytes about the page, then the page.  For the
 * kernel one is as much work as the other.  So the 24 bytes wait here for their page, and both
 * are written by one call.  If something else comes first they are written before it; and
 * before the lock is given up by which one process writes, whatever SQLite does.
 */
#ifndef HF_SQLITE_LOG_H
#define HF_SQLITE_LOG_H

#include <sqlite3.h>

/* Of "unix", whose files are followed by what is kept here: so many bytes are one together. */
int hf_sq_log_init(const sqlite3_vfs *usual);

/* A database, and a log, were opened. */
void hf_sq_log_wrap_db(sqlite3_file *db);
void hf_sq_log_wrap(sqlite3_file *log, const char *path);

#endif
