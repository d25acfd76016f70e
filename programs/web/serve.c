/* serve.c - see serve.h.
 *
 * Every request is checked in this order: size, method, Host, origin, token.  The page itself needs
 * no token, because it contains nothing secret.
 */
#include "serve.h"

#include "answer.h"
#include "api.h"
#include "change.h"
#include "clock.h"
#include "metrics.h"
#include "page.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#define BODY_MAX  4096
#define MEMORY    (32 * 1024) /* of one connection, including its headers */
#define TIMEOUT_S 20          /* of an idle connection */

struct request {
    char   body[BODY_MAX + 1];
    size_t size;
};

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* ---- Checks -------------------------------------------------------------------------- */

struct counting {
    const char *name;
    int         count;
};

static enum MHD_Result count_one(void *data, enum MHD_ValueKind kind, const char *key,
                                 const char *value)
{
    struct counting *counting = data;

    (void)kind;
    (void)value;
    counting->count += strcasecmp(key, counting->name) == 0;
    return MHD_YES;
}

static int count_headers(struct MHD_Connection *connection, const char *name)
{
    struct counting counting = { name, 0 };

    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_one, &counting);
    return counting.count;
}

static bool has_our_host(const struct site *site, struct MHD_Connection *connection)
{
    return count_headers(connection, "Host") == 1 &&
           auth_is_our_host(header(connection, "Host"), site->options.host, site->port);
}

/* Against request smuggling: if the end of a request is ambiguous, a proxy may see it elsewhere, and
 * pass on a second request that it knows nothing about. */
static bool has_one_length(struct MHD_Connection *connection)
{
    return count_headers(connection, "Content-Length") +
               count_headers(connection, "Transfer-Encoding") <=
           1;
}

/* Browsers send the origin of a request; other programs need not. */
static bool is_cross_origin(struct MHD_Connection *connection)
{
    const char *origin = header(connection, "Origin");
    const char *site = header(connection, "Sec-Fetch-Site");

    if (origin != NULL && !auth_is_same_origin(origin, header(connection, "Host")))
        return true;
    return site != NULL && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

/* 0, or the status to refuse with. */
static unsigned refuse(struct site *site, struct MHD_Connection *connection)
{
    if (is_cross_origin(connection))
        return MHD_HTTP_FORBIDDEN;
    if (!auth_is_token(&site->auth, header(connection, "Authorization"), clock_wall_us()))
        return MHD_HTTP_UNAUTHORIZED;
    clients_authenticated(connection);
    return 0;
}

static enum MHD_Result answer_refusal(struct MHD_Connection *connection, unsigned status)
{
    return answer_error(connection, status,
                        status == MHD_HTTP_UNAUTHORIZED
                            ? "open the address that holdfast-web printed; the signal "
                              "USR1 makes it print a new one"
                            : "this request comes from another site");
}

/* ---- Requests ------------------------------------------------------------------------ */

static enum MHD_Result answer_session(struct MHD_Connection *connection)
{
    struct draft draft;

    if (!draft_begin_json(&draft))
        return MHD_NO;
    json_string(&draft.json, "version", hf_version());
    return draft_send_json(&draft, connection, MHD_HTTP_OK);
}

static enum MHD_Result answer_get(struct site *site, struct MHD_Connection *connection,
                                  const char *path)
{
    const struct page *page = page_find(path);
    unsigned           status = refuse(site, connection);

    if (page != NULL)
        return answer_static(connection, page->type, page->text);
    if (status != 0)
        return answer_refusal(connection, status);
    if (strcmp(path, "/api/session") == 0)
        return answer_session(connection);
    if (strcmp(path, "/api/locks") == 0)
        return api_locks(site, connection);
    if (strncmp(path, "/api/locks/", 11) == 0 && path[11] != '\0')
        return api_lock(site, connection, path + 11);
    if (strcmp(path, "/api/history") == 0)
        return api_history(site, connection);
    if (strcmp(path, "/api/events") == 0)
        return stream_answer(site, connection);
    if (strcmp(path, "/metrics") == 0 && !site->metrics_apart)
        return metrics_answer(site, connection);
    return answer_error(connection, MHD_HTTP_NOT_FOUND, "no such page");
}

static enum MHD_Result answer_post(struct site *site, struct MHD_Connection *connection,
                                   const char *path, const struct request *request)
{
    bool        enter = strcmp(path, "/api/enter") == 0;
    const char *type = header(connection, "Content-Type");
    struct body body = { request->body, request->size };
    unsigned    status =
        enter && !is_cross_origin(connection) ? 0 : refuse(site, connection);

    if (status != 0)
        return answer_refusal(connection, status);
    if (type == NULL || strncasecmp(type, "application/json", 16) != 0)
        return answer_error(connection, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                            "expected application/json");
    if (enter)
        return change_enter(site, connection, body);
    if (strcmp(path, "/api/ask") == 0)
        return site->options.allow_ask
                   ? change_ask(site, connection, body)
                   : answer_error(connection, MHD_HTTP_FORBIDDEN,
                                  "holdfast-web was started without --allow-ask");
    if (strcmp(path, "/api/break") == 0)
        return site->options.allow_break
                   ? change_break(site, connection, body)
                   : answer_error(connection, MHD_HTTP_FORBIDDEN,
                                  "holdfast-web was started without --allow-break");
    return answer_error(connection, MHD_HTTP_NOT_FOUND, "no such request");
}

static bool is_get(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static enum MHD_Result answer(struct site *site, struct MHD_Connection *connection,
                              const char *path, const char *method,
                              const struct request *request)
{
    if (!has_our_host(site, connection))
        return answer_error(connection, MHD_HTTP_MISDIRECTED_REQUEST,
                            "unknown Host; --host adds a name");
    if (is_get(method))
        return answer_get(site, connection, path);
    if (strcmp(method, "POST") == 0)
        return answer_post(site, connection, path, request);
    return answer_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or POST");
}

/* ---- The daemons --------------------------------------------------------------------- */

/* Closes the connection: the next bytes may or may not belong to this request. */
static enum MHD_Result answer_unclear(struct MHD_Connection *connection)
{
    struct draft draft;

    if (!draft_begin_json(&draft))
        return MHD_NO;
    json_string(&draft.json, "error", "expected one Content-Length or Transfer-Encoding");
    json_close(&draft.json, '}');
    struct MHD_Response *response = draft_finish(&draft);
    if (response == NULL)
        return MHD_NO;
    MHD_add_response_header(response, "Connection", "close");
    return answer_response(connection, MHD_HTTP_BAD_REQUEST, TYPE_JSON, response);
}

/* Called first with the headers, then with parts of the body, then to be answered. */
static enum MHD_Result on_page(void *data, struct MHD_Connection *connection,
                               const char *path, const char *method, const char *version,
                               const char *part, size_t *size, void **ret)
{
    struct request *request = *ret;
    const char     *length = header(connection, "Content-Length");

    (void)version;
    if (request == NULL) {
        if (!has_one_length(connection))
            return answer_unclear(connection);
        if (length != NULL && strtoul(length, NULL, 10) > BODY_MAX)
            return answer_error(connection, MHD_HTTP_CONTENT_TOO_LARGE,
                                "the request is too large");
        *ret = calloc(1, sizeof *request);
        return *ret != NULL ? MHD_YES : MHD_NO;
    }
    if (*size > 0) {
        if (*size > BODY_MAX - request->size)
            return MHD_NO; /* without Content-Length: close the connection */
        memcpy(request->body + request->size, part, *size);
        request->size += *size;
        *size = 0;
        return MHD_YES;
    }
    return answer(data, connection, path, method, request);
}

static enum MHD_Result on_metrics(void *data, struct MHD_Connection *connection,
                                  const char *path, const char *method,
                                  const char *version, const char *part, size_t *size,
                                  void **ret)
{
    struct site *site = data;

    (void)version;
    (void)part;
    (void)ret;
    if (!has_one_length(connection))
        return answer_unclear(connection);
    if (*size > 0 || !is_get(method))
        return answer_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET");
    if (site->metrics_checked &&
        !auth_is_our_host(header(connection, "Host"), site->options.host, 0))
        return answer_error(connection, MHD_HTTP_MISDIRECTED_REQUEST, "unknown Host");
    if (strcmp(path, "/metrics") != 0)
        return answer_error(connection, MHD_HTTP_NOT_FOUND, "there is only /metrics");
    return metrics_answer(site, connection);
}

static void on_done(void *data, struct MHD_Connection *connection, void **ret,
                    enum MHD_RequestTerminationCode why)
{
    (void)data;
    (void)connection;
    (void)why;
    free(*ret);
    *ret = NULL;
}

static struct MHD_Daemon *start(struct site *site, int fd,
                                MHD_AccessHandlerCallback handler)
{
    return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
                            handler, site, MHD_OPTION_LISTEN_SOCKET, fd,
                            MHD_OPTION_NOTIFY_COMPLETED, on_done, NULL,
                            MHD_OPTION_NOTIFY_CONNECTION, clients_notify, &site->clients,
                            MHD_OPTION_CONNECTION_LIMIT, (unsigned)CLIENTS_MAX,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
                            MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

struct MHD_Daemon *serve_pages(struct site *site, int fd)
{
    return start(site, fd, on_page);
}

struct MHD_Daemon *serve_metrics(struct site *site, int fd)
{
    return start(site, fd, on_metrics);
}
