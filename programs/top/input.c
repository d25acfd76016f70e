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

void input_add(struct input *input, uint32_t character)
{
    char   bytes[4];
    size_t length;

    if (character < ' ' || (character >= 0x7f && character < 0xa0) ||
        character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
        return;
    length = text_encode(bytes, character);
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
