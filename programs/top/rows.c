/* rows.c - see rows.h. */
#include "rows.h"

#include "place.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rows_finish(struct rows *rows)
{
    free(rows->row);
    free(rows->selected);
    *rows = (struct rows){ 0 };
}

void rows_filter(struct rows *rows, const char *filter, bool typed)
{
    snprintf(rows->filter, sizeof rows->filter, "%s", filter);
    rows->typed = typed;
}

static bool is_part_of(const char *part, const struct hf_entry *entry)
{
    char address[PLACE_TEXT_MAX];

    return strcasestr(place_address(address, entry), part) != NULL ||
           strcasestr(entry->command, part) != NULL ||
           strcasestr(entry->note, part) != NULL;
}

static bool matches(const struct rows *rows, const struct lock *lock)
{
    const char *filter = rows->filter;

    if (*filter == '\0')
        return true;
    if (!rows->typed || strpbrk(filter, "*?[") != NULL)
        return fnmatch(filter, lock->name, 0) == 0;
    return strcasestr(lock->name, filter) != NULL ||
           (lock->holder != NULL && is_part_of(filter, lock->holder));
}

static bool grow_rows(struct rows *rows, size_t count)
{
    if (count <= rows->room)
        return true;
    const struct lock **grown = reallocarray(rows->row, count, sizeof *grown);
    if (grown == NULL)
        return false;
    rows->row = grown;
    rows->room = count;
    return true;
}

static void find_selected(struct rows *rows)
{
    for (size_t i = 0; rows->selected != NULL && i < rows->count; i++)
        if (strcmp(rows->row[i]->name, rows->selected) == 0) {
            rows->at = i;
            return;
        }
    if (rows->selected == NULL)
        rows->at = 0;
    else if (rows->at >= rows->count)
        rows->at = rows->count > 0 ? rows->count - 1 : 0;
}

void rows_update(struct rows *rows, const struct locks *locks, int64_t now)
{
    size_t kept = 0;

    rows->count = 0;
    if (grow_rows(rows, locks->count)) {
        locks_sort(locks, now, rows->row);
        for (size_t i = 0; i < locks->count; i++)
            if (matches(rows, rows->row[i]))
                rows->row[kept++] = rows->row[i];
        rows->count = kept;
    }
    find_selected(rows);
}

static void select_row(struct rows *rows, size_t at)
{
    char *name = strdup(rows->row[at]->name);

    if (name == NULL)
        return;
    free(rows->selected);
    rows->selected = name;
    rows->at = at;
}

void rows_move(struct rows *rows, long by)
{
    if (rows->count == 0)
        return;
    long at = (long)rows->at, last = (long)rows->count - 1;
    at = by > last - at ? last : by < -at ? 0 : at + by;
    select_row(rows, (size_t)at);
}

void rows_scroll(struct rows *rows, size_t height)
{
    size_t most = rows->count > height ? rows->count - height : 0;

    if (rows->at < rows->first)
        rows->first = rows->at;
    if (height > 0 && rows->at >= rows->first + height)
        rows->first = rows->at - height + 1;
    if (rows->first > most)
        rows->first = most;
}

const struct lock *rows_selected(const struct rows *rows)
{
    return rows->at < rows->count ? rows->row[rows->at] : NULL;
}
