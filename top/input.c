/* input.c - see input.h. */
#include "input.h"

#include "text.h"

#include <stdio.h>
#include <string.h>

void input_set(struct input *input, const char *text)
{
    snprintf(input->text, sizeof input->text, "%s", text);
    input->used = strlen(input->text);
}

/* Returns how many bytes that is. */
static size_t encode(char out[4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf0u << (4 - length)) | c);
    return length;
}

void input_add(struct input *input, uint32_t character)
{
    char   bytes[4];
    size_t length;

    if (character < ' ' || (character >= 0x7f && character < 0xa0) ||
        character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
        return;
    length = encode(bytes, character);
    if (input->used + length >= sizeof input->text)
        return;
    memcpy(input->text + input->used, bytes, length);
    input->used += length;
    input->text[input->used] = '\0';
}

void input_back(struct input *input)
{
    if (input->used == 0)
        return;
    do
        input->used--;
    while (input->used > 0 && (input->text[input->used] & 0xc0) == 0x80);
    input->text[input->used] = '\0';
}
