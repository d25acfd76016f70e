/* server_control.h - commands to the program that started the servers of a test. */
#ifndef HF_TEST_SERVER_CONTROL_H
#define HF_TEST_SERVER_CONTROL_H

#include <stdarg.h>
#include <stddef.h>

/* Send a line to the Unix socket that an environment variable names, such as
 * HF_REDIS_CTL; the test fails if the command does.  The answer, until the next call. */
const char *server_control(const char *variable, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Send a line to any Unix socket, and read to the end.  The answer, until the next
 * call. */
char *socket_exchange(const char *path, const char *line, size_t size);

#endif
