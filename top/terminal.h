/* terminal.h - the screen and the keyboard, by ncurses.
 *
 * It is given back as it was found, however the program ends: by terminal_close(), and by
 * exit() or a crash without it.
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include "page.h"

#include <stdint.h>

/* False: `error` tells why. */
bool terminal_open(char *error, size_t size);
void terminal_close(void);

/* Poll it for keys. */
int terminal_fd(void);

/* The next key, as top_key() wants it; false: there is none. */
bool terminal_key(uint32_t *ret);

void terminal_size(size_t *width, size_t *height);
void terminal_draw(const struct page *page);

/* Draw all of it again: somebody else wrote there. */
void terminal_redraw(void);

/* It has another size. */
void terminal_resized(void);

/* Give it back for a while; terminal_draw() takes it again. */
void terminal_lend(void);

#endif
