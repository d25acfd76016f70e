/* answer.c - see answer.h. */
#include "answer.h"

#include <stdlib.h>
#include <string.h>

/* No scripts or styles from other sites or inline, no frames, no caching, no guessing of types, no
 * referrer. */
static const struct {
    const char *name, *value;
} headers[] = {
    { "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
    { "X-Content-Type-Options", "nosniff" },
    { "X-Frame-Options", "DENY" },
    { "Referrer-Policy", "no-referrer" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
    { "Cross-Origin-Opener-Policy", "same-origin" },
    { "Permissions-Policy",
      "camera=(), microphone=(), geolocation=(), payment=(), usb=()" },
    { "Cache-Control", "no-store" },
};

enum MHD_Result answer_response(struct MHD_Connection *connection, unsigned status,
                                const char *type, struct MHD_Response *response)
{
    enum MHD_Result r = MHD_add_response_header(response, "Content-Type", type);

    for (size_t i = 0; r == MHD_YES && i < sizeof headers / sizeof *headers; i++)
        r = MHD_add_response_header(response, headers[i].name, headers[i].value);
    if (r == MHD_YES)
        r = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return r;
}

enum MHD_Result answer_static(struct MHD_Connection *connection, const char *type,
                              const char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)text,
                                        MHD_RESPMEM_PERSISTENT);

    if (response == NULL)
        return MHD_NO;
    return answer_response(connection, MHD_HTTP_OK, type, response);
}

bool draft_begin(struct draft *draft)
{
    *draft = (struct draft){ .text = NULL };
    draft->out = open_memstream(&draft->text, &draft->size);
    draft->json.out = draft->out;
    return draft->out != NULL;
}

struct MHD_Response *draft_finish(struct draft *draft)
{
    if (fclose(draft->out) != 0) {
        free(draft->text);
        return NULL;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(draft->size, draft->text, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        free(draft->text);
    return response;
}

enum MHD_Result draft_send(struct draft *draft, struct MHD_Connection *connection,
                           unsigned status, const char *type)
{
    struct MHD_Response *response = draft_finish(draft);

    return response != NULL ? answer_response(connection, status, type, response)
                            : MHD_NO;
}

bool draft_begin_json(struct draft *draft)
{
    if (!draft_begin(draft))
        return false;
    json_open(&draft->json, NULL, '{');
    return true;
}

enum MHD_Result draft_send_json(struct draft *draft, struct MHD_Connection *connection,
                                unsigned status)
{
    json_close(&draft->json, '}');
    fputc('\n', draft->out);
    return draft_send(draft, connection, status, TYPE_JSON);
}

enum MHD_Result answer_error(struct MHD_Connection *connection, unsigned status,
                             const char *text)
{
    struct draft draft;

    if (!draft_begin_json(&draft))
        return MHD_NO;
    json_string(&draft.json, "error", text);
    return draft_send_json(&draft, connection, status);
}
