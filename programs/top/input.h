/* input.h - a line of text that the user types. */
#ifndef INPUT_H
#define INPUT_H

#include <stddef.h>
#include <stdint.h>

#define INPUT_MAX 2048

struct input {
    char   text[INPUT_MAX]; /* UTF-8 */
    size_t used;
};

void input_set(struct input *input, const char *text);

/* Add a character, unless it is a control character or there is no room. */
void input_add(struct input *input, uint32_t character);

/* Remove the last character. */
void input_back(struct input *input);

#endif
