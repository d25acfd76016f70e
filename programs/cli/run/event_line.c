/* event_line.c - see event_line.h. */
#include "run/event_line.h"

#include "clock.h"
#include "redact.h"
#include "text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Cut between two characters. */
static void cut_text(char *out, size_t size, const char *text)
{
    size_t length = strlen(text);

    if (length >= size)
        for (length = size - 1; length > 0 && (text[length] & 0xc0) == 0x80; length--)
            continue;
    memcpy(out, text, length);
    out[length] = '\0';
}

bool event_begin(struct event_line *line, const char *event)
{
    char time[TEXT_TIME_MAX];

    *line = (struct event_line){ 0 };
    line->json.out = open_memstream(&line->text, &line->length);
    if (line->json.out == NULL)
        return false;
    json_open(&line->json, NULL, '{');
    json_string(&line->json, "time", text_time(time, clock_wall_us()));
    json_string(&line->json, "event", event);
    return true;
}

void event_put_text(struct event_line *line, const char *key, const char *text,
                    size_t size)
{
    char cut[EVENT_TEXT_CUT];

    assert(size <= sizeof cut);
    cut_text(cut, size, text);
    redact_text(cut); /* as in complain() */
    json_string(&line->json, key, cut);
}

void event_put_deadline(struct event_line *line, int64_t left_ms)
{
    char time[TEXT_TIME_MAX];

    if (left_ms == INT64_MAX) {
        json_null(&line->json, "left_ms");
        json_null(&line->json, "deadline");
    } else {
        json_number(&line->json, "left_ms", left_ms);
        json_string(&line->json, "deadline",
                    text_time(time, clock_wall_us() + left_ms * 1000));
    }
}

bool event_end(struct event_line *line)
{
    json_close(&line->json, '}');
    fputc('\n', line->json.out);
    if (fclose(line->json.out) == 0)
        return true;
    free(line->text);
    line->text = NULL;
    return false;
}
