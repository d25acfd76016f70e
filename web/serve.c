/* serve.c - see serve.h.
 *
 * Every request passes, in this order: its size, its method, Host, where it comes from, and
 * who asks.  The page itself is given to everybody who passes Host: there is nothing in it.
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
#define MEMORY    (32 * 1024) /* of one connection: headers must fit into it */
#define TIMEOUT_S 20          /* of a connection that does nothing */

struct request {
    char   body[BODY_MAX + 1];
    size_t size;
};

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* ---- Who asks ------------------------------------------------------------------------ */

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

static bool is_host_right(const struct site *site, struct MHD_Connection *connection)
{
    return count_headers(connection, "Host") == 1 &&
           door_knows(header(connection, "Host"), site->options.host, site->port);
}

/* Where a request ends must be clear: a proxy in front of us might see the end elsewhere, and
 * pass on a second request that it knows nothing of. */
static bool has_one_length(struct MHD_Connection *connection)
{
    return count_headers(connection, "Content-Length") +
               count_headers(connection, "Transfer-Encoding") <=
           1;
}

/* Browsers say where a request comes from.  Other programs do not, and need not. */
static bool is_from_elsewhere(struct MHD_Connection *connection)
{
    const char *origin = header(connection, "Origin");
    const char *site = header(connection, "Sec-Fetch-Site");

    if (origin != NULL && !door_is_same(origin, header(connection, "Host")))
        return true;
    return site != NULL && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

/* 0, or the status to refuse with. */
static unsigned refuse(struct site *site, struct MHD_Connection *connection)
{
    if (is_from_elsewhere(connection))
        return MHD_HTTP_FORBIDDEN;
    if (!door_admits(&site->door, header(connection, "Authorization"), clock_wall_us()))
        return MHD_HTTP_UNAUTHORIZED;
    guests_admit(connection);
    return 0;
}

static enum MHD_Result answer_refusal(struct MHD_Connection *connection, unsigned status)
{
    return answer_error(connection, status,
                        status == MHD_HTTP_UNAUTHORIZED
                            ? "open the address that holdfast-web printed; the signal "
                              "USR1 makes it print another"
                            : "this request does not come from the page");
}

/* ---- What is asked -------------------------------------------------------------------- */

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
        return api_line(site, connection, path + 11);
    if (strcmp(path, "/api/history") == 0)
        return api_history(site, connection);
    if (strcmp(path, "/api/events") == 0)
        return stream_answer(site, connection);
    if (strcmp(path, "/metrics") == 0 && !site->metrics_apart)
        return metrics_answer(site, connection);
    return answer_error(connection, MHD_HTTP_NOT_FOUND, "there is no such page");
}

static enum MHD_Result answer_post(struct site *site, struct MHD_Connection *connection,
                                   const char *path, const struct request *request)
{
    bool        enter = strcmp(path, "/api/enter") == 0;
    const char *type = header(connection, "Content-Type");
    struct body body = { request->body, request->size };
    unsigned    status =
        enter && !is_from_elsewhere(connection) ? 0 : refuse(site, connection);

    if (status != 0)
        return answer_refusal(connection, status);
    if (type == NULL || strncasecmp(type, "application/json", 16) != 0)
        return answer_error(connection, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                            "application/json is wanted");
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
    return answer_error(connection, MHD_HTTP_NOT_FOUND, "there is no such thing to do");
}

static bool is_get(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static enum MHD_Result answer(struct site *site, struct MHD_Connection *connection,
                              const char *path, const char *method,
                              const struct request *request)
{
    if (!is_host_right(site, connection))
        return answer_error(connection, MHD_HTTP_MISDIRECTED_REQUEST,
                            "this is no name of ours; --host makes it one");
    if (is_get(method))
        return answer_get(site, connection, path);
    if (strcmp(method, "POST") == 0)
        return answer_post(site, connection, path, request);
    return answer_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or POST");
}

/* ---- How it comes in ------------------------------------------------------------------ */

/* The connection ends with this answer: what follows may belong to the request or not. */
static enum MHD_Result answer_unclear(struct MHD_Connection *connection)
{
    struct draft draft;

    if (!draft_begin_json(&draft))
        return MHD_NO;
    json_string(&draft.json, "error",
                "one Content-Length or Transfer-Encoding is wanted, not more");
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
                                "this is too much");
        *ret = calloc(1, sizeof *request);
        return *ret != NULL ? MHD_YES : MHD_NO;
    }
    if (*size > 0) {
        if (*size > BODY_MAX - request->size)
            return MHD_NO; /* said nothing of its size: the connection ends */
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
        !door_knows(header(connection, "Host"), site->options.host, 0))
        return answer_error(connection, MHD_HTTP_MISDIRECTED_REQUEST,
                            "this is no name of ours");
    if (strcmp(path, "/metrics") != 0)
        return answer_error(connection, MHD_HTTP_NOT_FOUND, "only /metrics is here");
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
                            MHD_OPTION_NOTIFY_CONNECTION, guests_notify, &site->guests,
                            MHD_OPTION_CONNECTION_LIMIT, (unsigned)GUESTS_MAX,
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
