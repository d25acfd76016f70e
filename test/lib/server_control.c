/* server_control.c - see server_control.h. */
#include "lib/server_control.h"

#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

char *socket_exchange(const char *path, const char *line, size_t size)
{
    static char        said[65536];
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct timeval     limit = { .tv_sec = 30 };
    size_t             used = 0;
    ssize_t            n;

    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
        fail_msg("nobody listens at %s", path);
    assert_int_equal(send(fd, line, size, MSG_NOSIGNAL), size);
    while ((n = read(fd, said + used, sizeof said - 1 - used)) > 0)
        used += (size_t)n;
    said[used] = '\0';
    close(fd);
    return said;
}

const char *server_control(const char *variable, const char *format, va_list args)
{
    char line[1024];
    int  n = vsnprintf(line, sizeof line - 1, format, args);

    assert_true((size_t)n < sizeof line - 1);
    line[n] = '\n';
    const char *said = socket_exchange(getenv(variable), line, (size_t)n + 1);
    if (strncmp(said, "ok", 2) != 0)
        fail_msg("the starter of the servers cannot \"%.*s\": %s", n, line, said);
    return said + 2 + (said[2] == ' ');
}
