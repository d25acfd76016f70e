/* reply.c - the packets of an answer; see wire.h.
 *
 *            OK, and no more results; ERROR
 *         +------------------------------------------------------> complete
 *         |                                                           ^
 *       HEAD --count--> COLUMNS --the last--> END --EOF--> ROWS --EOF-+  ERROR anywhere
 *         ^                                                  |
 *         +---------------- more results --------------------+
 */
#include "base/grow.h"
#include "holdfast.h"
#include "store/mariadb/wire/wire.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLY_MAX   ((size_t)256 * 1024 * 1024) /* bytes that an answer may take */
#define COLUMNS_MAX 4096                        /* the server's own limit */
#define KEPT        (64 * 1024)                 /* for the next answer */

enum step { HEAD, COLUMNS, COLUMNS_END, ROWS };

struct hf_my_row {
    size_t   first; /* index of its first field */
    unsigned columns, result;
};

struct hf_my_field {
    size_t at, size; /* in `bytes`; SIZE_MAX: NULL */
};

/* ---- The end of an answer, or of a result in it ----------------------------------- */

/* A line that can be shown: without control characters, and cut between characters. */
static void copy_message(struct hf_my_reply *reply, struct hf_my_text text)
{
    size_t room = sizeof reply->message - 1;
    size_t size = text.size < room ? text.size : room;

    while (size < text.size && size > 0 &&
           ((unsigned char)text.data[size] & 0xc0) == 0x80)
        size--;
    for (size_t i = 0; i < size; i++)
        reply->message[i] = (unsigned char)text.data[i] < 0x20 ? ' ' : text.data[i];
    reply->message[size] = '\0';
}

/* Before the login there is no SQLSTATE, as in "Too many connections". */
bool hf_my_reply_take_error(struct hf_my_reply *reply, const void *packet, size_t size)
{
    struct hf_my_reader reader = hf_my_reader_on(packet, size);
    bool                mark = hf_my_get(&reader, 1) == 0xff;
    unsigned            error = (unsigned)hf_my_get(&reader, 2);

    if (reader.bad || !mark || error == 0)
        return false;
    snprintf(reply->state, sizeof reply->state, "HY000");
    if (hf_my_left(&reader) >= 6 && *reader.at == '#') {
        struct hf_my_text state = hf_my_get_bytes(&reader, 6);
        memcpy(reply->state, state.data + 1, 5);
        for (int i = 0; i < 5; i++)
            if ((unsigned char)reply->state[i] <= ' ' || reply->state[i] == 0x7f)
                reply->state[i] = '?';
    }
    reply->error = error;
    copy_message(reply, hf_my_get_bytes(&reader, hf_my_left(&reader)));
    return true;
}

static int end_result(struct hf_my_reply *reply)
{
    reply->step = HEAD;
    return (reply->status & HF_MY_MORE_RESULTS) == 0;
}

static int take_ok(struct hf_my_reply *reply, struct hf_my_reader *reader)
{
    hf_my_get(reader, 1);
    uint64_t changed = hf_my_get_length(reader);
    hf_my_get_length(reader); /* the last AUTO_INCREMENT */
    unsigned status = (unsigned)hf_my_get(reader, 2);
    unsigned warnings = (unsigned)hf_my_get(reader, 2);
    if (reader->bad) /* a text may follow */
        return HF_ESTORE;
    reply->changed = changed;
    reply->status = status;
    reply->warnings = warnings;
    return end_result(reply);
}

/* A row cannot begin so: a field of that length needs more than a packet. */
static bool is_eof(const struct hf_my_reader *reader)
{
    return hf_my_left(reader) < 9 && hf_my_left(reader) > 0 && *reader->at == 0xfe;
}

static int take_eof(struct hf_my_reply *reply, struct hf_my_reader *reader)
{
    bool is = is_eof(reader);

    hf_my_get(reader, 1);
    unsigned warnings = (unsigned)hf_my_get(reader, 2);
    unsigned status = (unsigned)hf_my_get(reader, 2);
    if (!is || reader->bad || hf_my_left(reader) > 0)
        return HF_ESTORE;
    reply->warnings = warnings;
    reply->status = status;
    return 0;
}

/* ---- Rows ------------------------------------------------------------------------- */

static int take_head(struct hf_my_reply *reply, struct hf_my_reader *reader)
{
    if (*reader->at == 0)
        return take_ok(reply, reader);
    uint64_t columns = hf_my_get_length(reader);
    if (reader->bad || hf_my_left(reader) > 0 || columns == 0 || columns > COLUMNS_MAX)
        return HF_ESTORE; /* the server's wish for a file of ours, 0xfb, included */
    reply->columns = columns;
    reply->described = 0;
    reply->results++;
    reply->step = COLUMNS;
    return 0;
}

/* Their names and types do not matter to us. */
static int take_column(struct hf_my_reply *reply, struct hf_my_reader *reader)
{
    struct hf_my_text catalog = hf_my_get_field(reader);

    if (reader->bad || catalog.size != 3 || memcmp(catalog.data, "def", 3) != 0)
        return HF_ESTORE;
    if (++reply->described == reply->columns)
        reply->step = COLUMNS_END;
    return 0;
}

static bool make_room(struct hf_my_reply *reply, size_t size)
{
    size_t need = reply->used + size + reply->columns; /* with a NUL each */
    size_t fields = reply->fields + reply->columns;

    if (need + fields * sizeof *reply->field + reply->rows * sizeof *reply->row >
        REPLY_MAX)
        return false;
    struct hf_my_row *row =
        hf_grow(reply->row, &reply->row_room, reply->rows + 1, sizeof *row);
    reply->row = row != NULL ? row : reply->row;
    struct hf_my_field *field =
        hf_grow(reply->field, &reply->field_room, fields, sizeof *field);
    reply->field = field != NULL ? field : reply->field;
    char *bytes = hf_grow(reply->bytes, &reply->room, need, 1);
    reply->bytes = bytes != NULL ? bytes : reply->bytes;
    return row != NULL && field != NULL && bytes != NULL;
}

static int take_row(struct hf_my_reply *reply, struct hf_my_reader *reader)
{
    struct hf_my_row row = { .first = reply->fields,
                             .columns = (unsigned)reply->columns,
                             .result = reply->results - 1 };
    size_t           used = reply->used;

    if (!make_room(reply, hf_my_left(reader)))
        return HF_ENOMEM;
    for (unsigned i = 0; i < row.columns; i++) {
        struct hf_my_text   text = hf_my_get_field(reader);
        struct hf_my_field *field = &reply->field[row.first + i];
        *field = (struct hf_my_field){ .at = used, .size = SIZE_MAX };
        if (text.data == NULL)
            continue;
        field->size = text.size;
        memcpy(reply->bytes + used, text.data, text.size);
        used += text.size;
        reply->bytes[used++] = '\0';
    }
    if (reader->bad || hf_my_left(reader) > 0)
        return HF_ESTORE;
    assert(used <= reply->room);
    reply->used = used;
    reply->fields += row.columns;
    reply->row[reply->rows++] = row;
    return 0;
}

int hf_my_reply_take(struct hf_my_reply *reply, const void *packet, size_t size)
{
    struct hf_my_reader reader = hf_my_reader_on(packet, size);
    int                 r;

    if (size == 0)
        return HF_ESTORE;
    if (*reader.at == 0xff)
        return hf_my_reply_take_error(reply, packet, size) ? 1 : HF_ESTORE;
    switch ((enum step)reply->step) {
    case HEAD:
        return take_head(reply, &reader);
    case COLUMNS:
        return take_column(reply, &reader);
    case COLUMNS_END:
        r = take_eof(reply, &reader);
        reply->step = ROWS;
        return r;
    case ROWS:
        break;
    }
    if (!is_eof(&reader))
        return take_row(reply, &reader);
    r = take_eof(reply, &reader);
    return r < 0 ? r : end_result(reply);
}

/* ---- For the caller --------------------------------------------------------------- */

static const struct hf_my_field *find_field(const struct hf_my_reply *reply, size_t row,
                                            size_t column)
{
    if (row >= reply->rows || column >= reply->row[row].columns)
        return NULL;
    const struct hf_my_field *field = &reply->field[reply->row[row].first + column];
    return field->size != SIZE_MAX ? field : NULL;
}

const char *hf_my_text(const struct hf_my_reply *reply, size_t row, size_t column)
{
    const struct hf_my_field *field = find_field(reply, row, column);

    return field != NULL ? reply->bytes + field->at : NULL;
}

size_t hf_my_size(const struct hf_my_reply *reply, size_t row, size_t column)
{
    const struct hf_my_field *field = find_field(reply, row, column);

    return field != NULL ? field->size : 0;
}

bool hf_my_is_number(const struct hf_my_reply *reply, size_t row, size_t column)
{
    const char *text = hf_my_text(reply, row, column);
    size_t      size = hf_my_size(reply, row, column);

    if (text == NULL)
        return false;
    size_t sign = *text == '-';
    return size > sign && size <= 20 && strspn(text + sign, "0123456789") == size - sign;
}

int64_t hf_my_number(const struct hf_my_reply *reply, size_t row, size_t column)
{
    return hf_my_is_number(reply, row, column)
               ? strtoll(hf_my_text(reply, row, column), NULL, 10)
               : 0;
}

uint64_t hf_my_unsigned(const struct hf_my_reply *reply, size_t row, size_t column)
{
    const char *text = hf_my_text(reply, row, column);

    return hf_my_is_number(reply, row, column) && *text != '-' ? strtoull(text, NULL, 10)
                                                               : 0;
}

size_t hf_my_columns(const struct hf_my_reply *reply, size_t row)
{
    return row < reply->rows ? reply->row[row].columns : 0;
}

unsigned hf_my_result(const struct hf_my_reply *reply, size_t row)
{
    return row < reply->rows ? reply->row[row].result : 0;
}

void hf_my_reply_clear(struct hf_my_reply *reply)
{
    struct hf_my_reply old = *reply;

    if (old.room > KEPT || old.field_room > KEPT / sizeof *old.field)
        hf_my_reply_finish(&old);
    *reply = (struct hf_my_reply){ .row = old.row,
                                   .row_room = old.row_room,
                                   .field = old.field,
                                   .field_room = old.field_room,
                                   .bytes = old.bytes,
                                   .room = old.room };
}

void hf_my_reply_finish(struct hf_my_reply *reply)
{
    free(reply->row);
    free(reply->field);
    free(reply->bytes);
    *reply = (struct hf_my_reply){ .error = 0 };
}
