/* write.c - commands in the wire format: "*2\r\n$3\r\nGET\r\n$1\r\nx\r\n".
 *
 * Without printf(), and without hiredis, which uses it: that took a tenth of the time a
 * client needs to acquire and release a lock.
 */
#include "store/redis/wire/wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

size_t hf_redis_digits(uint64_t number, size_t width, char ret[HF_REDIS_DIGITS])
{
    char   turned[HF_REDIS_DIGITS];
    size_t count = 0;

    do {
        turned[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count < width)
        turned[count++] = '0';
    assert(count <= HF_REDIS_DIGITS);
    for (size_t i = 0; i < count; i++)
        ret[i] = turned[count - 1 - i];
    return count;
}

static char *put_bytes(char *at, const char *text, size_t size)
{
    memcpy(at, text, size);
    return at + size;
}

char *hf_redis_write_count(char *at, char mark, size_t count)
{
    assert(mark == '*' || mark == '$');
    *at++ = mark;
    at += hf_redis_digits(count, 0, at);
    return put_bytes(at, "\r\n", 2);
}

char *hf_redis_write_text(char *at, const char *text, size_t size)
{
    at = put_bytes(hf_redis_write_count(at, '$', size), text, size);
    return put_bytes(at, "\r\n", 2);
}

/* ---- Arguments while they are gathered ---------------------------------------- */

static bool grow_args(struct hf_redis_args *args, size_t size)
{
    size_t room = (args->used + size) * 2 + 256;

    if (args->used + size <= args->room)
        return true;
    char *text = realloc(args->text, room);
    if (text == NULL)
        return false;
    args->text = text;
    args->room = room;
    return true;
}

void hf_redis_args_begin(struct hf_redis_args *args)
{
    args->count = args->used = 0;
    args->failed = false;
}

void hf_redis_args_add(struct hf_redis_args *args, const char *text, size_t size)
{
    if (args->failed || !grow_args(args, size + HF_REDIS_FRAME)) {
        args->failed = true;
        return;
    }
    char *end = hf_redis_write_text(args->text + args->used, text, size);
    args->used = (size_t)(end - args->text);
    assert(args->used <= args->room);
    args->count++;
}

void hf_redis_args_finish(struct hf_redis_args *args)
{
    free(args->text);
    *args = (struct hf_redis_args){ 0 };
}
