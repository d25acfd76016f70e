/* value.c - the arguments of a call, and the fields of a result. */
#include "store/postgres/inner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 512

/* ---- Arguments ------------------------------------------------------------------ */

void hf_pg_args_finish(struct hf_pg_args *args)
{
    free(args->text);
    *args = (struct hf_pg_args){ 0 };
}

static bool grow_params(struct hf_pg_args *args, size_t size)
{
    size_t room = args->room;

    assert(args->used <= args->room);
    if (args->failed || room - args->used >= size)
        return !args->failed;
    while (room - args->used < size)
        room = room == 0 ? ROOM_FIRST : room * 2;
    char *grown = realloc(args->text, room);
    args->failed = grown == NULL;
    if (grown == NULL)
        return false;
    args->text = grown;
    args->room = room;
    return true;
}

void hf_pg_begin(struct hf_pg *pg, enum hf_pg_function function)
{
    struct hf_pg_args *args = &pg->args;

    assert(function <= HF_PG_FUNCTIONS);
    args->function = function;
    args->used = 0;
    args->count = 0;
    args->nulls = 0;
    args->failed = false;
}

void hf_pg_add(struct hf_served *served, const char *text)
{
    struct hf_pg_args *args = &((struct hf_pg *)served)->args;
    size_t             size = text != NULL ? strlen(text) + 1 : 1;

    assert(args->count < HF_PG_ARGS);
    if (text == NULL)
        args->nulls |= 1u << args->count;
    args->count++;
    if (!grow_params(args, size))
        return;
    memcpy(args->text + args->used, text != NULL ? text : "", size);
    args->used += size;
}

void hf_pg_add_number(struct hf_served *served, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, (int64_t)number); /* as SQL's bigint */
    hf_pg_add(served, text);
}

void hf_pg_add_bool(struct hf_served *served, bool value)
{
    hf_pg_add(served, value ? "t" : "f");
}

void hf_pg_add_numbers(struct hf_served *served, const uint64_t *number, size_t count)
{
    struct hf_pg_args *args = &((struct hf_pg *)served)->args;

    assert(args->count < HF_PG_ARGS);
    args->count++;
    if (!grow_params(args, count * 21 + 3)) /* 20 digits and a comma each */
        return;
    char *to = args->text + args->used;
    *to++ = '{';
    for (size_t i = 0; i < count; i++)
        to += sprintf(to, "%s%" PRIu64, i > 0 ? "," : "", number[i]);
    *to++ = '}';
    *to++ = '\0';
    args->used = (size_t)(to - args->text);
    assert(args->used <= args->room);
}

/* ---- Results -------------------------------------------------------------------- */

const char *hf_pg_text(const PGresult *result, int row, int column)
{
    if (result == NULL || row >= PQntuples(result) || column < 0 ||
        column >= PQnfields(result) || PQgetisnull(result, row, column))
        return NULL;
    return PQgetvalue(result, row, column);
}

int64_t hf_pg_number(const PGresult *result, int row, int column)
{
    const char *text = hf_pg_text(result, row, column);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

bool hf_pg_bool(const PGresult *result, int row, int column)
{
    const char *text = hf_pg_text(result, row, column);

    return text != NULL && text[0] == 't';
}
