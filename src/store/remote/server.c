/* server.c - see server.h. */
#include "store/remote/server.h"

#include "store/param.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hf_server_show(const struct hf_server *server, char *ret, size_t size)
{
    bool v6 = strchr(server->host, ':') != NULL;

    if (server->port[0] == '\0')
        snprintf(ret, size, "%s", server->host);
    else
        snprintf(ret, size, "%s%.100s%s:%s", v6 ? "[" : "", server->host, v6 ? "]" : "",
                 server->port);
    return ret;
}

/* The port's number; 0: it is none. */
static uint16_t parse_port(const char *text)
{
    size_t length = strspn(text, "0123456789");
    int    port = length > 0 && length < 7 && text[length] == '\0' ? atoi(text) : 0;

    return port <= UINT16_MAX ? (uint16_t)port : 0;
}

#define NO_SERVER "no host and port in what starts with"

/* "host", "host:port", "[v6]" or "[v6]:port".  What is wrong with it; NULL: nothing. */
static const char *parse_server(char *text, const char *port, struct hf_server *ret)
{
    char *host = text, *end = text + strcspn(text, ":");

    if (text[0] == '[') {
        host++;
        end = host + strcspn(host, "]");
        bool closed = end[0] == ']' && (end[1] == ':' || end[1] == '\0');
        text[closed ? end - text : 1] = '\0';
        if (!closed)
            return NO_SERVER;
        end++;
    }
    if (*end == ':') {
        *end = '\0';
        port = end + 1;
    }
    if (host[0] == '\0' || strlen(host) >= sizeof ret->host)
        return NO_SERVER;
    if (parse_port(port) == 0)
        return port[strspn(port, "0123456789")] == '\0' ? HF_SERVER_BAD_PORT : NO_SERVER;
    snprintf(ret->host, sizeof ret->host, "%s", host);
    snprintf(ret->port, sizeof ret->port, "%u", parse_port(port));
    return NULL;
}

int hf_servers_parse(char *text, const char *port, struct hf_server *ret, size_t max,
                     char *errmsg)
{
    size_t count = 0;
    char  *rest, advice[32];

    assert(max > 0 && max <= HF_SERVERS_MAX && parse_port(port) != 0);
    snprintf(advice, sizeof advice, "give %zu at most", max);
    for (char *part = strtok_r(text, ",", &rest); part != NULL;
         part = strtok_r(NULL, ",", &rest)) {
        if (count == max)
            return hf_param_complain(errmsg, "too many servers, from", part, advice);
        const char *wrong = parse_server(part, port, &ret[count++]);
        if (wrong != NULL)
            return hf_param_complain(errmsg, wrong, part,
                                     "write host:port, and [host]:port for IPv6");
    }
    return (int)count;
}
