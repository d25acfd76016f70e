/* script.c - runs scripts on the memory store, in virtual time.
 *
 *     script                    all of test/script/, started at the top of the tree
 *     script [--rewrite] FILE...
 *
 * A line that begins with "> " is a command (see run.h).  The lines below it that begin
 * with "[" are the transcript that it must produce, with the time in ms; all other lines
 * are for the reader.  --rewrite replaces the transcript by what really happened.
 *
 * A transcript shows what the store does (indented), and what each application learns.
 */
#include "run.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRIPT_MAX (64 * 1024)

struct script {
    char   text[SCRIPT_MAX];   /* of the file */
    char   played[SCRIPT_MAX]; /* the same, with what really happened */
    size_t length;
};

static bool read_script(const char *path, struct script *script)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    size_t n = fread(script->text, 1, SCRIPT_MAX - 1, file);
    script->text[n] = '\0';
    script->length = 0;
    return fclose(file) == 0 && n > 0;
}

static void add(struct script *script, const char *text, size_t length)
{
    if (script->length + length >= SCRIPT_MAX) {
        fprintf(stderr, "script: the script is too long\n");
        exit(2);
    }
    memcpy(script->played + script->length, text, length);
    script->length += length;
    script->played[script->length] = '\0';
}

static void add_outcome(struct script *script, struct run *run)
{
    add(script, run->text, run->length);
    run->length = 0;
}

/* Carry out its commands, and write `played`.  False: a command was not understood. */
static bool play(const char *path, struct script *script, struct run *run)
{
    const char *fault = NULL;

    run_open(run);
    for (const char *line = script->text; *line != '\0' && fault == NULL;) {
        size_t length = strcspn(line, "\n");
        size_t whole = length + (line[length] == '\n');
        if (line[0] != '[')
            add(script, line, whole);
        if (strncmp(line, "> ", 2) == 0) {
            char command[256];
            snprintf(command, sizeof command, "%.*s", (int)length - 2, line + 2);
            fault = run_command(run, command);
            if (fault != NULL)
                printf("# %s: \"%s\": %s\n", path, command, fault);
            add_outcome(script, run);
        }
        line += whole;
    }
    run_close(run);
    return fault == NULL;
}

/* Show the first line that differs, and what is before it. */
static void show_difference(const struct script *script)
{
    size_t at = 0, line = 0;

    while (script->text[at] != '\0' && script->text[at] == script->played[at]) {
        at++;
        if (script->text[at - 1] == '\n')
            line = at;
    }
    size_t from = line > 400 ? line - 400 : 0;
    printf("# ...%.*s", (int)(line - from), script->text + from);
    printf("# expected: %.*s\n", (int)strcspn(script->text + line, "\n"),
           script->text + line);
    printf("# but got:  %.*s\n", (int)strcspn(script->played + line, "\n"),
           script->played + line);
}

static bool rewrite(const char *path, const struct script *script)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    size_t n = fwrite(script->played, 1, script->length, file);
    return fclose(file) == 0 && n == script->length;
}

static bool run_file(const char *path, bool rewriting)
{
    static struct script script;
    static struct run    run;

    if (!read_script(path, &script)) {
        printf("# %s cannot be read\n", path);
        return false;
    }
    if (!play(path, &script, &run))
        return false;
    if (rewriting)
        return rewrite(path, &script);
    if (strcmp(script.text, script.played) == 0)
        return true;
    show_difference(&script);
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
        bool good = run_file(path[i], rewriting);
        printf("%s %zu - %s\n", good ? "ok" : "not ok", i + 1, path[i]);
        failed += !good;
    }
    globfree(&all);
    return failed > 0;
}
