/* top.h - the state of the user interface, and what the keys do.
 *
 *      /         +-----------+  a         +--------+
 *   FILTERING <--|           |----------->| ASKING |--Enter--> TOP_ASK
 *      |         | BROWSING  |            +--------+
 *      +-------->|           |  b         +----------+
 *   Enter, Esc   | the table |----------->| BREAKING |--Enter, the name matches--> TOP_BREAK
 *                | or a queue|            +----------+
 *      ?         |           |
 *      HELP <----|           |--p--> TOP_PAUSE       q --> TOP_QUIT
 *      |         +-----------+
 *      +--any key--^              Esc leads back from everywhere
 *
 * Nothing here touches the store: top_key() returns an action for the caller to do.
 */
#ifndef TOP_H
#define TOP_H

#include "input.h"
#include "rows.h"
#include "snapshot.h"

enum top_mode { TOP_BROWSING, TOP_FILTERING, TOP_ASKING, TOP_BREAKING, TOP_HELP };

/* The caller does one of these after a key. */
enum top_action {
    TOP_NOTHING,
    TOP_ASK,   /* ask for target_name; the reason is in `input` */
    TOP_BREAK, /* break target_token of target_name */
    TOP_PAUSE, /* or go on */
    TOP_REDRAW,
    TOP_QUIT,
};

/* Keys that are not characters; a character is its Unicode. */
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

    /* The open lock, by its name, and the selected place in its queue. */
    char    *opened; /* NULL: the table */
    uint64_t place;  /* its token; 0: the first */
    size_t   place_at, place_first;

    /* The target of ASKING and BREAKING when the key was pressed. */
    char     target_name[TOP_NAME_MAX];
    uint64_t target_token;
    char     target_text[TOP_TEXT_MAX]; /* "token 17, held by ana@db2:4242 for 12m03s" */

    char   message[TOP_TEXT_MAX]; /* until the next key; clean */
    bool   alarming;
    size_t page; /* rows of the last page that was drawn */
};

void top_finish(struct top *top);

/* Call this before drawing and, if the locks have changed, before a key. */
void top_update(struct top *top, const struct snapshot *snapshot);

enum top_action top_key(struct top *top, const struct snapshot *snapshot, uint32_t key);

/* Show a message. */
void top_message(struct top *top, bool alarming, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The open lock; NULL: none, or its queue is empty. */
const struct lock *top_opened(const struct top *top, const struct snapshot *snapshot);

#endif
