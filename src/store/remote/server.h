/* server.h - the servers that a URL names, and how they are shown. */
#ifndef HF_REMOTE_SERVER_H
#define HF_REMOTE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#define HF_SERVERS_MAX 32 /* of one store */

struct hf_server {
    char host[256]; /* a name or an address; or the path of a Unix socket */
    char port[6];   /* "": it is a path */
};

/* "host:port", "[v6]:port", or the path. */
const char *hf_server_show(const struct hf_server *server, char *ret, size_t size);

/* "host", "host:port", "[v6]" or "[v6]:port"; `port` if there is none.  `text` is taken
 * apart in place; what is left in it on failure may be shown: what follows a colon could
 * be a password. */
bool hf_server_parse(char *text, const char *port, struct hf_server *ret);

/* Several of them, with commas between: how many, 0 included.  HF_EINVAL: too many or a
 * bad one, see hf_param_complain(). */
int hf_servers_parse(char *text, const char *port, struct hf_server *ret, size_t max,
                     char *errmsg);

#endif
