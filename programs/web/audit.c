/* audit.c - see audit.h. */
#include "audit.h"

#include "clock.h"
#include "log.h"
#include "text.h"

#include <holdfast.h>

#include <netdb.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>

#define QUOTED_MAX 1500

static void describe_process(int fd, char out[AUDIT_WHO_MAX])
{
    struct ucred peer;
    socklen_t    size = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
        snprintf(out, AUDIT_WHO_MAX, "?");
        return;
    }
    const struct passwd *user = getpwuid(peer.uid);
    snprintf(out, AUDIT_WHO_MAX, "uid %u (%.64s) pid %d", peer.uid,
             user != NULL ? user->pw_name : "?", peer.pid);
}

const char *audit_who(struct MHD_Connection *connection, char out[AUDIT_WHO_MAX])
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr_storage name;
    socklen_t               size = sizeof name;
    char                    host[64], port[16];

    snprintf(out, AUDIT_WHO_MAX, "?");
    if (info == NULL ||
        getpeername(info->connect_fd, (struct sockaddr *)&name, &size) < 0)
        return out;
    if (name.ss_family == AF_UNIX)
        describe_process(info->connect_fd, out);
    else if (getnameinfo((struct sockaddr *)&name, size, host, sizeof host, port,
                         sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(out, AUDIT_WHO_MAX, "%s port %s", host, port);
    return out;
}

/* In quotes, so that no text can look like the next field. */
static const char *quote(char out[QUOTED_MAX], const char *text)
{
    char   clean[QUOTED_MAX / 2];
    size_t used = 0;

    text_clean(clean, sizeof clean, text);
    out[used++] = '"';
    for (const char *s = clean; *s != '\0' && used < QUOTED_MAX - 4; s++) {
        if (*s == '"' || *s == '\\')
            out[used++] = '\\';
        out[used++] = *s;
    }
    out[used++] = '"';
    out[used] = '\0';
    return out;
}

void audit_write(const struct audit *audit)
{
    char name[QUOTED_MAX], holder[QUOTED_MAX], reason[QUOTED_MAX], who[QUOTED_MAX];
    char time[TEXT_TIME_MAX], line[4 * QUOTED_MAX + 200];

    snprintf(line, sizeof line,
             "audit: %s lock=%s token=%s holder=%s reason=%s by=%s: %s", audit->what,
             quote(name, audit->name), *audit->token != '\0' ? audit->token : "-",
             quote(holder, audit->holder), quote(reason, audit->reason),
             quote(who, audit->who),
             audit->result >= 0 ? "done" : hf_errname(audit->result));
    log_print("%s %s", text_time(time, clock_wall_us()), line);
    syslog(LOG_NOTICE, "%s", line);
}
