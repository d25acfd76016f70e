/* event_line.h - an event of a lock as a line of JSON, for --status-fd and `serve`. */
#ifndef EVENT_LINE_H
#define EVENT_LINE_H

#include "json.h"

#include <stddef.h>

/* Texts are cut to so many bytes, with the NUL. */
#define EVENT_NAME_CUT 256
#define EVENT_TEXT_CUT 384

struct event_line {
    struct json json;
    char       *text; /* after event_end(): the line, with '\n'; yours to free */
    size_t      length;
};

/* Begin the line with `time` and `event`; false: no memory. */
bool event_begin(struct event_line *line, const char *event);

/* Other people's text: cut to `size`, between two characters, and without the passwords of
 * URLs. */
void event_put_text(struct event_line *line, const char *key, const char *text,
                    size_t size);

/* `deadline` for readers that come late, `left_ms` for those with another clock.
 * INT64_MAX: there is no deadline. */
void event_put_deadline(struct event_line *line, int64_t left_ms);

/* End the line; false: no memory, and the line is gone. */
bool event_end(struct event_line *line);

#endif
