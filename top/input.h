/* input.h - a line of text that somebody types. */
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

/* A character is added, unless it is a control or there is no room. */
void input_add(struct input *input, uint32_t character);

/* The last one goes. */
void input_back(struct input *input);

#endif
