/* server.h - the servers that a URL names, and how they are shown. */
#ifndef HF_REMOTE_SERVER_H
#define HF_REMOTE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#define HF_SERVERS_MAX 32 /* of one store */

/* For hf_param_complain(); the text of a port may be a password, and is not shown. */
#define HF_SERVER_BAD_PORT "no port from 1 to 65535 follows"

struct hf_server {
    char host[256]; /* a name or an address; or the path of a Unix socket */
    char port[6];   /* "": it is a path */
};

/* "host:port", "[v6]:port", or the path. */
const char *hf_server_show(const struct hf_server *server, char *ret, size_t size);

/* Parse "host", "host:port", "[v6]" or "[v6]:port", separated by commas; `port` is the
 * default.  Returns how many, 0 included.  HF_EINVAL: too many or a bad one, see
 * hf_param_complain().  `text` is cut up in place.  The message shows nothing that
 * follows a colon, which could be a password. */
int hf_servers_parse(char *text, const char *port, struct hf_server *ret, size_t max,
                     char *errmsg);

#endif
