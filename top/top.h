/* top.h - what a person looks at, and what his keys do.
 *
 *      /         +-----------+  a         +--------+
 *   FILTERING <--|           |----------->| ASKING |--Enter--> TOP_ASK
 *      |         |  LOOKING  |            +--------+
 *      +-------->|           |  b         +----------+
 *   Enter, Esc   | the table |----------->| BREAKING |--Enter, the name is right--> TOP_BREAK
 *                | or a line |            +----------+
 *      ?         |           |
 *   HELPING <----|           |--p--> TOP_PAUSE       q --> TOP_QUIT
 *      |         +-----------+
 *      +--any key--^              Esc leads back from everywhere
 *
 * Here nothing is done to a store: top_key() says what to do, and the caller does it.
 */
#ifndef TOP_H
#define TOP_H

#include "input.h"
#include "rows.h"
#include "sight.h"

enum top_mode { TOP_LOOKING, TOP_FILTERING, TOP_ASKING, TOP_BREAKING, TOP_HELPING };

/* What the caller has to do after a key. */
enum top_wish {
    TOP_NOTHING,
    TOP_ASK,   /* ask for target_name, for the reason that stands in `input` */
    TOP_BREAK, /* break target_token of target_name */
    TOP_PAUSE, /* or go on */
    TOP_REDRAW,
    TOP_QUIT,
};

/* Keys that are no characters; those are their Unicode. */
enum top_key {
    TOP_KEY_UP = 0x200000,
    TOP_KEY_DOWN,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT,
    TOP_KEY_ENTER,
    TOP_KEY_ESCAPE,
    TOP_KEY_BACK,
};

#define TOP_NAME_MAX 4096
#define TOP_TEXT_MAX 600

struct top {
    enum top_mode mode;
    struct rows   rows;
    struct input  input;
    char          filter_before[ROWS_FILTER];
    bool          typed_before;

    /* A line that is open, by its name, and the chosen place in it. */
    char    *opened; /* NULL: the table */
    uint64_t place;  /* its token; 0: the first */
    size_t   place_at, place_first;

    /* Whom ASKING and BREAKING are about, as it was when the key was pressed. */
    char     target_name[TOP_NAME_MAX];
    uint64_t target_token;
    char     target_text[TOP_TEXT_MAX]; /* "token 17, held by ana@db2:4242 for 12m03s" */

    char   message[TOP_TEXT_MAX]; /* until the next key; clean */
    bool   alarming;
    size_t page; /* rows of the last page that was made */
};

void top_finish(struct top *top);

/* Take what there is to see: before a page is made, and before a key, if the board has
 * changed. */
void top_take(struct top *top, const struct sight *sight);

enum top_wish top_key(struct top *top, const struct sight *sight, uint32_t key);

/* Tell how it went. */
void top_say(struct top *top, bool alarming, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The line that is open; NULL: none, or nobody is in it any more. */
const struct board_line *top_opened(const struct top *top, const struct sight *sight);

#endif
