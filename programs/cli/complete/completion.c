/* completion.c - completion: scripts for shells, and what they ask; see completion.h.
 *
 * A hidden verb: the build writes its output to files.
 *
 *     completion bash|zsh|fish      the script
 *     completion names              the names of locks in use, a line each
 *     completion names HEAD TEXT    the same for bash, see completion_quote()
 */
#include "complete/completion.h"

#include "complain.h"
#include "entry.h"
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool completion_has(const struct verb *verb, const struct option_row *row)
{
    return verb == NULL || (row->verbs & verb->bit) != 0;
}

bool completion_takes_file(const struct option_row *row)
{
    return row->value != NULL && strcmp(row->value, "FILE") == 0;
}

bool completion_begins_with_file(const struct verb *verb)
{
    return strncmp(verb->operands, "FILE", 4) == 0;
}

bool completion_begins_with_verb(const struct verb *verb)
{
    return strcmp(verb->operands, "[VERB]") == 0;
}

void completion_print_verbs(void)
{
    const char *space = "";

    for (size_t i = 0; i < verb_count; i++)
        if (verb_table[i].summary != NULL)
            printf("%s%s", space, verb_table[i].name), space = " ";
}

const char *completion_words(const struct option_row *row)
{
    if (row->value != NULL && strcmp(row->value, "SIGNAL") == 0)
        return "TERM INT HUP QUIT KILL USR1 USR2";
    return row->id == OPT_LEFTOVERS ? "wait end leave" : NULL;
}

void completion_print_options(const struct verb *verb, bool valued)
{
    const char *space = "";

    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &option_table[i];
        if (!completion_has(verb, row) || (valued && row->value == NULL))
            continue;
        if (row->id < 256)
            printf("%s-%c", space, row->id), space = " ";
        printf("%s--%s", space, row->name), space = " ";
    }
}

static int print_names(const struct args *args, struct hf_client *client,
                       const struct hf_report *report)
{
    (void)client;
    for (size_t i = 0; i < report->count; i += entry_same_name(report, i)) {
        const char *name = report->entry[i]->name;
        if (args->operand[1] == NULL) {
            puts(name);
            continue;
        }
        char *quoted = completion_quote(name, args->operand[1],
                                        args->operand[2] ? args->operand[2] : "");
        if (quoted != NULL)
            puts(quoted);
        free(quoted);
    }
    return 0;
}

int completion_main(const struct args *args)
{
    const char *shell = args->operand[0];

    if (strcmp(shell, "names") == 0)
        return session_look(args, NULL, print_names);
    if (strcmp(shell, "bash") == 0)
        completion_bash();
    else if (strcmp(shell, "zsh") == 0)
        completion_zsh();
    else if (strcmp(shell, "fish") == 0)
        completion_fish();
    else {
        complain("completion: \"%s\" is not bash, zsh or fish", shell);
        return EXIT_USAGE;
    }
    return 0;
}
