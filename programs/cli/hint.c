/* hint.c - "did you mean ...?" for an unknown verb or option; see parse.h. */
#include "parse.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 32
#define FAR      3 /* edits: no longer the same word */

/* Options that flock(1) has and `run` has not. */
static const struct {
    const char *option, *hint;
} of_flock[] = {
    { "--nb", "write -n" },
    { "--timeout", "write -w" },
    { "-e", "write -x" },
    { "-u", "a lock ends with its command, or with the stdin of `holdfast hold`" },
    { "--unlock", "a lock ends with its command, or with the stdin of `holdfast hold`" },
    { "-F", "holdfast stays, to end the command if the lock is lost: leave it out" },
    { "--no-fork",
      "holdfast stays, to end the command if the lock is lost: leave it out" },
};

static char hint[160];

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters must be added, taken out, replaced, or swapped with the next one. */
static size_t distance(const char *a, const char *b)
{
    size_t row[3][WORD_MAX + 1] = { { 0 } };
    size_t width = strlen(b);

    if (strlen(a) > WORD_MAX || width > WORD_MAX)
        return FAR;
    for (size_t j = 0; j <= width; j++)
        row[0][j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= width; j++) {
            now[j] = least(before[j - 1] + (a[i - 1] != b[j - 1]),
                           least(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], earlier[j - 2] + 1);
        }
    }
    return row[strlen(a) % 3][width];
}

/* Short words are near to all others: a word of three letters may differ by one. */
static size_t limit_for(const char *word)
{
    return least(FAR, (strlen(word) + 2) / 3 + 1);
}

const char *hint_verb(const char *word)
{
    const struct verb *best = NULL;
    size_t             least_far = limit_for(word);

    for (size_t i = 0; i < verb_count; i++) {
        size_t far = distance(word, verb_table[i].name);
        if (verb_table[i].summary != NULL && far < least_far) {
            least_far = far;
            best = &verb_table[i];
        }
    }
    if (best == NULL)
        return "";
    snprintf(hint, sizeof hint, " (did you mean \"%s\"?)", best->name);
    return hint;
}

static const char *nearest_option(const struct verb *verb, const char *name)
{
    const char *best = NULL;
    size_t      least_far = limit_for(name);

    for (size_t i = 0; i < option_count; i++) {
        size_t far = distance(name, option_table[i].name);
        if ((option_table[i].verbs & verb->bit) != 0 && far < least_far) {
            least_far = far;
            best = option_table[i].name;
        }
    }
    return best;
}

const char *hint_option(const struct verb *verb, const char *word)
{
    for (size_t i = 0; i < sizeof of_flock / sizeof *of_flock; i++)
        if ((verb->bit & (IN_RUN | IN_TRY)) != 0 &&
            strcmp(word, of_flock[i].option) == 0) {
            snprintf(hint, sizeof hint, ": %s", of_flock[i].hint);
            return hint;
        }
    const char *best =
        strncmp(word, "--", 2) == 0 ? nearest_option(verb, word + 2) : NULL;
    if (best == NULL)
        return "";
    snprintf(hint, sizeof hint, " (did you mean --%s?)", best);
    return hint;
}
