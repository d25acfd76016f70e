/* rule.c - the rule of core/line, for test/served/three.py.
 *
 *     rule -       reads lines of places, "WEIGHT/CAPACITY ...", from the head; that of a
 *                  claim ends in c.  Prints for each place one letter:
 *                  P passes, B is blocked, M another kind or S an invalid place is ahead
 *
 * Walking back from a place must give the same result as adding up from the head.
 * Without arguments the program tests itself.
 */
/* one thread */
#include "core/line.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 64 /* places in a line */

struct line {
    struct hf_shape shape[LONGEST];
    size_t          count;
};

static void read_line(const char *text, struct line *ret)
{
    char *end;

    ret->count = 0;
    for (text += strspn(text, " \n"); *text != '\0'; text = end + strspn(end, " \n")) {
        int64_t weight = strtoll(text, &end, 10);
        assert(*end == '/' && ret->count < LONGEST);
        int64_t capacity = strtoll(end + 1, &end, 10);
        bool    claim = *end == 'c';
        end += claim;
        assert(*end == ' ' || *end == '\n' || *end == '\0');
        ret->shape[ret->count++] = hf_shape_read(weight, capacity, claim);
    }
}

/* ---- The rule, both ways --------------------------------------------------------- */

struct walk {
    const struct line *line;
    size_t             left; /* places ahead that the walk did not need */
};

static int next_ahead(void *from, struct hf_shape *ret)
{
    struct walk *walk = from;

    if (walk->left == 0)
        return 0;
    *ret = walk->line->shape[--walk->left];
    return 1;
}

/* A walk ends at the place that decides, without reading all places ahead. */
static void check_walk(const struct line *line, size_t me, enum hf_verdict verdict)
{
    struct walk     walk = { line, me };
    enum hf_verdict found;

    int r = hf_line_walk(&line->shape[me], next_ahead, &walk, &found, NULL);
    assert(r == 0);
    assert((found == HF_PASSES) == (verdict == HF_PASSES));
    assert(found == verdict || found == HF_BLOCKED || walk.left > 0);
}

static void judge(const struct line *line, char ret[LONGEST + 1])
{
    static const char letter[] = {
        [HF_PASSES] = 'P',
        [HF_BLOCKED] = 'B',
        [HF_MISMATCHED] = 'M',
        [HF_BARRED] = 'S',
    };
    struct hf_sum sum = { 0 };

    for (size_t i = 0; i < line->count; i++) {
        enum hf_verdict verdict = hf_sum_judge(&sum, &line->shape[i]);
        check_walk(line, i, verdict);
        hf_sum_add(&sum, &line->shape[i]);
        ret[i] = letter[verdict];
    }
    ret[line->count] = '\0';
}

/* ---- All of it --------------------------------------------------------------------- */

static void judge_stdin(void)
{
    char        text[4096], letters[LONGEST + 1];
    struct line line;

    while (fgets(text, sizeof text, stdin) != NULL) {
        read_line(text, &line);
        judge(&line, letters);
        puts(letters);
    }
}

static void test_itself(void)
{
    static const char *const lines[][2] = {
        { "", "" },
        { "1/1 1/1", "PB" },
        { "2/3 1/3 1/3", "PPB" },
        { "3/5 3/5 1/5", "PBB" },
        { "1/1c 1/1", "PM" },
        { "9/5 1/5 1/5", "PSS" },
        { "1/4294967295 1/4294967295 4294967295/4294967295", "PPB" },
    };
    char        letters[LONGEST + 1];
    struct line line;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        read_line(lines[i][0], &line);
        judge(&line, letters);
        assert(strcmp(letters, lines[i][1]) == 0);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "-") == 0)
        judge_stdin();
    else
        test_itself();
    return 0;
}
