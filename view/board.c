/* board.c - see board.h. */
#include "board.h"

#include "changes.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define TRIM_FROM 1000 /* lines; the memory of fewer is not worth it */

/* A line is freed with its name behind it. */
static void line_free(struct board_line *line)
{
    if (line == NULL)
        return;
    hf_report_free((struct hf_report *)line->report);
    free(line->left_ms);
    free(line);
}

void board_finish(struct board *board)
{
    for (size_t i = 0; i < board->count; i++)
        line_free(board->line[i]);
    free(board->line);
    *board = (struct board){ 0 };
}

/* Where it is, or would be. */
static size_t position(const struct board *board, const char *name, bool *found)
{
    size_t low = 0, high = board->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(board->line[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < board->count && strcmp(board->line[low]->name, name) == 0;
    return low;
}

const struct board_line *board_find(const struct board *board, const char *name)
{
    bool   found;
    size_t at = position(board, name, &found);

    return found ? board->line[at] : NULL;
}

static struct board_line *add_line(struct board *board, size_t at, const char *name)
{
    size_t size = strlen(name) + 1;

    if (board->count == board->room) {
        size_t              room = board->room > 0 ? 2 * board->room : 64;
        struct board_line **grown = reallocarray(board->line, room, sizeof *grown);
        if (grown == NULL)
            return NULL;
        board->line = grown;
        board->room = room;
    }
    struct board_line *line = calloc(1, sizeof *line + size);
    if (line == NULL)
        return NULL;
    line->name = memcpy((char *)(line + 1), name, size);
    memmove(board->line + at + 1, board->line + at,
            (board->count - at) * sizeof *board->line);
    board->line[at] = line;
    board->count++;
    return line;
}

static void remove_line(struct board *board, size_t at)
{
    line_free(board->line[at]);
    board->count--;
    memmove(board->line + at, board->line + at + 1,
            (board->count - at) * sizeof *board->line);
}

static void count_line(struct board_line *line)
{
    const struct hf_report *report = line->report;

    line->holders = line->waiters = 0;
    line->holder = NULL;
    line->waits_since = 0;
    for (size_t i = 0; i < report->count; i++) {
        const struct hf_entry *entry = report->entry[i];
        if (entry->held) {
            if (line->holder == NULL) {
                line->holder = entry;
                line->holder_at = i;
            }
            line->holders++;
            continue;
        }
        line->waiters++;
        if (line->waits_since == 0 || entry->since < line->waits_since)
            line->waits_since = entry->since;
    }
}

/* Without memory for it, the leases stay as the report has them. */
static void note_left(struct board_line *line)
{
    free(line->left_ms);
    line->left_ms = calloc(line->report->count, sizeof *line->left_ms);
    for (size_t i = 0; line->left_ms != NULL && i < line->report->count; i++)
        line->left_ms[i] = line->report->entry[i]->left_ms;
}

static void refresh_line(struct board_line *line, const struct hf_report *all,
                         size_t first, size_t end, int64_t now)
{
    for (size_t i = 0, k = first; i < line->report->count && k < end; i++) {
        while (k < end && all->entry[k]->token != line->report->entry[i]->token)
            k++;
        if (k < end)
            line->left_ms[i] = all->entry[k++]->left_ms;
    }
    line->seen = now;
}

void board_refresh(struct board *board, const struct hf_report *all, int64_t now)
{
    bool found;

    for (size_t first = 0, end; first < all->count; first = end) {
        const char *name = all->entry[first]->name;
        for (end = first + 1; end < all->count; end++)
            if (strcmp(all->entry[end]->name, name) != 0)
                break;
        size_t at = position(board, name, &found);
        if (found && board->line[at]->left_ms != NULL)
            refresh_line(board->line[at], all, first, end, now);
    }
}

int64_t board_left_ms(const struct board_line *line, size_t place)
{
    assert(place < line->report->count);
    return line->left_ms != NULL ? line->left_ms[place]
                                 : line->report->entry[place]->left_ms;
}

struct moment {
    struct past *past;
    int64_t      now;
};

static void add_change(const char *what, const struct hf_entry *entry, void *data)
{
    struct moment *moment = data;

    past_add_entry(moment->past, what, entry, moment->now, "");
}

bool board_take(struct board *board, const char *name, struct hf_report *report,
                int64_t now, struct past *past)
{
    struct moment      moment = { past, now };
    bool               found;
    size_t             at = position(board, name, &found);
    struct board_line *line = found ? board->line[at] : NULL;

    if (past != NULL)
        changes_tell(line != NULL ? line->report : NULL, report, add_change, &moment);
    board->version++;
    if (line != NULL) {
        board->holders -= line->holders;
        board->waiters -= line->waiters;
    }
    if (report->count == 0) {
        hf_report_free(report);
        if (line != NULL)
            remove_line(board, at);
        return true;
    }
    if (line == NULL && (line = add_line(board, at, name)) == NULL) {
        hf_report_free(report);
        return false;
    }
    hf_report_free((struct hf_report *)line->report);
    line->report = report;
    line->seen = now;
    line->version = board->version;
    count_line(line);
    note_left(line);
    board->holders += line->holders;
    board->waiters += line->waiters;
    return true;
}

void board_sweep(struct board *board, uint64_t version, int64_t now, struct past *past)
{
    const struct hf_report nobody = { 0 };
    struct moment          moment = { past, now };

    for (size_t i = board->count; i-- > 0;) {
        struct board_line *line = board->line[i];
        if (line->version > version)
            continue;
        if (past != NULL)
            changes_tell(line->report, &nobody, add_change, &moment);
        board->version++;
        board->holders -= line->holders;
        board->waiters -= line->waiters;
        remove_line(board, i);
    }
}

/* free() hands back the end of the heap alone, and something that lives on always lies there. */
void board_trim(struct board *board)
{
    if (board->count > board->most)
        board->most = board->count;
    if (board->most < TRIM_FROM || board->count > board->most / 2)
        return;
    malloc_trim(0);
    board->most = board->count;
}

double board_pain(const struct board_line *line, int64_t now)
{
    int64_t wait = line->waits_since > 0 ? now - line->waits_since : 0;

    return wait > 0 ? (double)line->waiters * (double)wait : 0;
}

/* The time that qsort() has no room for; who sorts has one thread. */
static int64_t sorting_at;

static int by_pain(const void *a, const void *b)
{
    const struct board_line *x = *(const struct board_line *const *)a;
    const struct board_line *y = *(const struct board_line *const *)b;
    double                   p = board_pain(x, sorting_at), q = board_pain(y, sorting_at);

    if (p != q)
        return p > q ? -1 : 1;
    if ((x->waiters > 0) != (y->waiters > 0))
        return x->waiters > 0 ? -1 : 1;
    return strcmp(x->name, y->name);
}

void board_sort(const struct board *board, int64_t now, const struct board_line **ret)
{
    for (size_t i = 0; i < board->count; i++)
        ret[i] = board->line[i];
    sorting_at = now;
    if (board->count > 0)
        qsort(ret, board->count, sizeof *ret, by_pain);
}
