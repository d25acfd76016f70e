/* terminal.c - see terminal.h. */
#include "terminal.h"

#include "crash.h"
#include "top.h"

#include <errno.h>
#include <fcntl.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ESCAPE_MS 25 /* between the bytes of one key */

enum { PAIR_ALARM = 1, PAIR_BAD, PAIR_SELECTED };

static SCREEN *screen;
static FILE   *keys; /* stdin, or the terminal itself */
static bool    colors;

/* ---- Open and close ----------------------------------------------------------------- */

static void set_colors(void)
{
    const char *no = getenv("NO_COLOR");

    colors = (no == NULL || *no == '\0') && has_colors();
    if (!colors)
        return;
    start_color();
    use_default_colors();
    init_pair(PAIR_ALARM, COLOR_RED, -1);
    init_pair(PAIR_BAD, COLOR_WHITE, COLOR_RED);
    init_pair(PAIR_SELECTED, COLOR_BLACK, COLOR_CYAN);
}

static bool open_keys(char *error, size_t size)
{
    keys = isatty(STDIN_FILENO) ? stdin : fopen("/dev/tty", "re");
    if (keys == NULL)
        snprintf(error, size, "there is no terminal to read keys from: %s",
                 strerror(errno));
    return keys != NULL;
}

bool terminal_open(char *error, size_t size)
{
    const char *type = getenv("TERM");

    if (!open_keys(error, size))
        return false;
    crash_prepare(fileno(keys));
    screen = newterm(NULL, stdout, keys);
    if (screen == NULL) {
        snprintf(error, size, "a terminal of type \"%s\" is not known; --once needs none",
                 type != NULL ? type : "");
        return false;
    }
    if (tigetstr("cup") == NULL) { /* its cursor cannot be moved */
        endwin();
        delscreen(screen);
        screen = NULL;
        snprintf(error, size,
                 "nothing can be drawn on a terminal of type \"%s\"; --once prints text",
                 type != NULL ? type : "");
        return false;
    }
    atexit(terminal_close);
    crash_arm(tigetstr("sgr0"), tigetstr("cnorm"), tigetstr("rmkx"), tigetstr("rmcup"));
    set_escdelay(ESCAPE_MS);
    set_colors();
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    terminal_resized();
    return true;
}

void terminal_close(void)
{
    if (screen == NULL)
        return;
    endwin();
    crash_disarm();
    delscreen(screen);
    screen = NULL;
    if (keys != stdin)
        fclose(keys);
}

/* ---- Keys --------------------------------------------------------------------------- */

int terminal_fd(void)
{
    return fileno(keys);
}

static uint32_t function_key(wint_t code)
{
    switch (code) {
    case KEY_UP:
        return TOP_KEY_UP;
    case KEY_DOWN:
        return TOP_KEY_DOWN;
    case KEY_LEFT:
        return TOP_KEY_LEFT;
    case KEY_RIGHT:
        return TOP_KEY_RIGHT;
    case KEY_PPAGE:
        return TOP_KEY_PAGE_UP;
    case KEY_NPAGE:
        return TOP_KEY_PAGE_DOWN;
    case KEY_HOME:
        return TOP_KEY_HOME;
    case KEY_END:
        return TOP_KEY_END;
    case KEY_ENTER:
        return TOP_KEY_ENTER;
    case KEY_BACKSPACE:
    case KEY_DC:
        return TOP_KEY_BACK;
    default:
        return 0;
    }
}

static uint32_t character_key(wint_t character)
{
    switch (character) {
    case '\r':
    case '\n':
        return TOP_KEY_ENTER;
    case '\033':
        return TOP_KEY_ESCAPE;
    case '\b':
    case 0x7f:
        return TOP_KEY_BACK;
    default:
        return (uint32_t)character;
    }
}

bool terminal_key(uint32_t *ret)
{
    wint_t code;
    int    r = get_wch(&code);

    if (r == ERR)
        return false;
    *ret = r == KEY_CODE_YES ? function_key(code) : character_key(code);
    return true;
}

/* ---- The screen --------------------------------------------------------------------- */

void terminal_size(size_t *width, size_t *height)
{
    *width = COLS > 0 ? (size_t)COLS : 1;
    *height = LINES > 0 ? (size_t)LINES : 1;
}

void terminal_resized(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 ||
        size.ws_col == 0)
        return;
    if (size.ws_row != LINES || size.ws_col != COLS)
        resizeterm(size.ws_row, size.ws_col);
    clearok(curscr, TRUE);
}

void terminal_redraw(void)
{
    clearok(curscr, TRUE);
}

void terminal_suspend(void)
{
    endwin();
    clearok(curscr, TRUE);
}

static attr_t attributes_of(enum page_style style)
{
    switch (style) {
    case PAGE_STRONG:
        return A_BOLD;
    case PAGE_FAINT:
        return A_DIM;
    case PAGE_HEAD:
        return A_REVERSE;
    case PAGE_BAD:
        return A_BOLD | (colors ? COLOR_PAIR(PAIR_BAD) : A_REVERSE);
    case PAGE_ALARM:
        return A_BOLD | (colors ? COLOR_PAIR(PAIR_ALARM) : 0);
    case PAGE_SELECTED:
        return colors ? COLOR_PAIR(PAIR_SELECTED) : A_REVERSE;
    case PAGE_PLAIN:
        break;
    }
    return A_NORMAL;
}

static void draw_line(const struct page_line *line, int row)
{
    size_t from = 0;

    move(row, 0);
    for (size_t i = 0; i < line->runs; i++) {
        attrset((int)attributes_of(line->run[i].style));
        addnstr(line->text + from, (int)(line->run[i].end - from));
        from = line->run[i].end;
    }
    attrset((int)attributes_of(line->fill));
    if (line->columns < (size_t)COLS)
        hline(' ' | attributes_of(line->fill), COLS - (int)line->columns);
    attrset(A_NORMAL);
}

void terminal_draw(const struct page *page)
{
    erase();
    for (size_t i = 0; i < page->lines && i < (size_t)LINES; i++)
        draw_line(&page->line[i], (int)i);
    curs_set(page->cursor ? 1 : 0);
    if (page->cursor)
        move((int)page->cursor_line,
             page->cursor_column < (size_t)COLS ? (int)page->cursor_column : COLS - 1);
    refresh();
}
