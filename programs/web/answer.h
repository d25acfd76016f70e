/* answer.h - answers to requests, with the security headers that all of them have. */
#ifndef ANSWER_H
#define ANSWER_H

#include "json.h"

#include <microhttpd.h>

/* Takes over the response. */
enum MHD_Result answer_response(struct MHD_Connection *connection, unsigned status,
                                const char *type, struct MHD_Response *response);

/* A text that lives as long as the program. */
enum MHD_Result answer_static(struct MHD_Connection *connection, const char *type,
                              const char *text);

/* {"error":...} */
enum MHD_Result answer_error(struct MHD_Connection *connection, unsigned status,
                             const char *text);

/* An answer that is written piece by piece:
 *
 *     struct draft draft;
 *     if (!draft_begin(&draft))
 *         return MHD_NO;
 *     ... write to draft.out or draft.json ...
 *     return draft_send(&draft, connection, status);
 */
struct draft {
    FILE       *out;
    struct json json;
    char       *text;
    size_t      size;
};

bool                 draft_begin(struct draft *draft);
struct MHD_Response *draft_finish(struct draft *draft);
enum MHD_Result      draft_send(struct draft *draft, struct MHD_Connection *connection,
                                unsigned status, const char *type);

/* The same for one JSON object. */
bool            draft_begin_json(struct draft *draft);
enum MHD_Result draft_send_json(struct draft *draft, struct MHD_Connection *connection,
                                unsigned status);

#define TYPE_JSON "application/json; charset=utf-8"

#endif
