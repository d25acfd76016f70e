/* change.h - requests that change something: POST /api/enter, /api/ask and /api/break. */
#ifndef CHANGE_H
#define CHANGE_H

#include "site.h"

/* The body of a request, followed by a NUL. */
struct body {
    const char *text;
    size_t      size;
};

/* {key}: exchange the key of the printed address for a token. */
enum MHD_Result change_enter(struct site *site, struct MHD_Connection *connection,
                             struct body body);

/* {name, reason} */
enum MHD_Result change_ask(struct site *site, struct MHD_Connection *connection,
                           struct body body);

/* {name, token, typed, reason}: `typed` is the name once more, typed by a person. */
enum MHD_Result change_break(struct site *site, struct MHD_Connection *connection,
                             struct body body);

#endif
