/* terminal.h - the screen and the keyboard, by ncurses.
 *
 * The terminal is restored however the program ends: by terminal_close(), by exit(), or by a crash.
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include "page.h"

#include <stdint.h>

/* False: the reason is in `error`. */
bool terminal_open(char *error, size_t size);
void terminal_close(void);

/* Poll it for keys. */
int terminal_fd(void);

/* The next key, for top_key(); false: there is none. */
bool terminal_key(uint32_t *ret);

void terminal_size(size_t *width, size_t *height);
void terminal_draw(const struct page *page);

/* Redraw everything: another program may have written to the terminal. */
void terminal_redraw(void);

/* The size has changed. */
void terminal_resized(void);

/* Restore the terminal until the next terminal_draw(). */
void terminal_suspend(void);

#endif
