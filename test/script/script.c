/* script.c - stories in text files, played on the memory world.
 *
 *     script                    all of stories in test/script, from the source folder
 *     script [--rewrite] FILE...
 *
 * In a story, a line that starts with "> " is a command (see stage.h); the lines
 * below it that start with "[" are what must come of it, with the time in ms;
 * all else is for the reader.  --rewrite puts in what does come of it.
 *
 * Told is what reaches the world (indented) and what applications are told.
 */
#include "stage.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORY (64 * 1024)

struct story {
    char   text[STORY];   /* as it was read */
    char   played[STORY]; /* as it turned out */
    size_t length;
};

static bool read_story(const char *path, struct story *story)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    size_t n = fread(story->text, 1, STORY - 1, file);
    story->text[n] = '\0';
    story->length = 0;
    return fclose(file) == 0 && n > 0;
}

static void add(struct story *story, const char *text, size_t length)
{
    if (story->length + length >= STORY) {
        fprintf(stderr, "script: the story is too long\n");
        exit(2);
    }
    memcpy(story->played + story->length, text, length);
    story->length += length;
    story->played[story->length] = '\0';
}

static void add_outcome(struct story *story, struct stage *stage)
{
    add(story, stage->text, stage->length);
    stage->length = 0;
}

/* Play it, and write down the same story with what really happened.  False if
 * there was a command that makes no sense. */
static bool play(const char *path, struct story *story, struct stage *stage)
{
    const char *fault = NULL;

    stage_open(stage);
    for (const char *line = story->text; *line != '\0' && fault == NULL;) {
        size_t length = strcspn(line, "\n");
        size_t whole = length + (line[length] == '\n');
        if (line[0] != '[')
            add(story, line, whole);
        if (strncmp(line, "> ", 2) == 0) {
            char command[256];
            snprintf(command, sizeof command, "%.*s", (int)length - 2, line + 2);
            fault = stage_play(stage, command);
            if (fault != NULL)
                printf("# %s: \"%s\": %s\n", path, command, fault);
            add_outcome(story, stage);
        }
        line += whole;
    }
    stage_close(stage);
    return fault == NULL;
}

/* Show where they part, with a little of what came before. */
static void tell_difference(const struct story *story)
{
    size_t at = 0, line = 0;

    while (story->text[at] != '\0' && story->text[at] == story->played[at]) {
        at++;
        if (story->text[at - 1] == '\n')
            line = at;
    }
    size_t from = line > 400 ? line - 400 : 0;
    printf("# ...%.*s", (int)(line - from), story->text + from);
    printf("# expected: %.*s\n", (int)strcspn(story->text + line, "\n"),
           story->text + line);
    printf("# happened: %.*s\n", (int)strcspn(story->played + line, "\n"),
           story->played + line);
}

static bool rewrite(const char *path, const struct story *story)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    size_t n = fwrite(story->played, 1, story->length, file);
    return fclose(file) == 0 && n == story->length;
}

static bool run(const char *path, bool rewriting)
{
    static struct story story;
    static struct stage stage;

    if (!read_story(path, &story)) {
        printf("# %s cannot be read\n", path);
        return false;
    }
    if (!play(path, &story, &stage))
        return false;
    if (rewriting)
        return rewrite(path, &story);
    if (strcmp(story.text, story.played) == 0)
        return true;
    tell_difference(&story);
    return false;
}

int main(int argc, char **argv)
{
    bool   rewriting = argc > 1 && strcmp(argv[1], "--rewrite") == 0;
    char **path = argv + 1 + rewriting;
    size_t count = (size_t)(argc - 1 - rewriting), failed = 0;
    glob_t all = { 0 };

    if (count == 0) {
        if (glob("test/script/*.txt", 0, NULL, &all) != 0) {
            fprintf(stderr, "script: there is no test/script/*.txt here\n");
            return 2;
        }
        path = all.gl_pathv;
        count = all.gl_pathc;
    }
    for (size_t i = 0; i < count; i++) {
        bool good = run(path[i], rewriting);
        printf("%s %zu - %s\n", good ? "ok" : "not ok", i + 1, path[i]);
        failed += !good;
    }
    globfree(&all);
    return failed > 0;
}
