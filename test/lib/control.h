/* control.h - who started the servers of a test is told what to do to them: see test/server. */
#ifndef HF_TEST_CONTROL_H
#define HF_TEST_CONTROL_H

#include <stdarg.h>
#include <stddef.h>

/* Tell one line by the socket that the environment names, HF_REDIS_CTL; the test fails if he
 * cannot.  What he says, until the next call. */
const char *control_tell(const char *variable, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Send a line to any Unix socket, and read to the end.  Until the next call. */
char *control_exchange(const char *path, const char *line, size_t size);

#endif
