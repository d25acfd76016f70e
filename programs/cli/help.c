/* help.c - help, from the tables of cli_options.c. */
#include "cli_options.h"

#include "complain.h"
#include "parse.h"

#include <stdio.h>

static void print_help_option(const struct option_row *row)
{
    char left[64];
    int  n = 0;

    if (row->id < 256)
        n = snprintf(left, sizeof left, "-%c, ", row->id);
    else
        n = snprintf(left, sizeof left, "    ");
    snprintf(left + n, sizeof left - (size_t)n, "--%s%s%s", row->name,
             row->value ? " " : "", row->value ? row->value : "");
    printf("  %-28s %s\n", left, row->help);
}

static void print_verb(const struct verb *verb)
{
    printf("usage: holdfast %s [options]%s%s\n", verb->name, *verb->operands ? " " : "",
           verb->operands);
    if (verb->command && verb->names)
        printf("       holdfast %s [options] NAME -c STRING\n", verb->name);
    printf("\n");
    if (verb->summary != NULL)
        printf("%s\n\n", verb->summary);
    if (verb->details != NULL)
        printf("%s\n\n", verb->details);
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].verbs & verb->bit)
            print_help_option(&option_table[i]);
}

static void print_all(void)
{
    printf("usage: holdfast VERB [options] ...\n\n");
    for (size_t i = 0; i < verb_count; i++)
        if (verb_table[i].summary != NULL)
            printf("  %-8s %-22s %s\n", verb_table[i].name, verb_table[i].operands,
                   verb_table[i].summary);
    printf(
        "\nLocks are kept in a file of yours unless HOLDFAST_URL, --url or --url-file\n"
        "names a store.\n"
        "Exit codes of run: the command's own; %d not acquired; %d lock lost;\n"
        "%d store unavailable; %d usage; %d --max-run was over;\n"
        "126, 127 cannot run the command.\n"
        "`holdfast help VERB` tells more; so does the manual, holdfast(1).\n",
        EXIT_BUSY, EXIT_LOST, EXIT_UNAVAILABLE, EXIT_USAGE, EXIT_OVERDUE);
}

void help_print(const struct verb *verb)
{
    if (verb != NULL)
        print_verb(verb);
    else
        print_all();
}

int help_main(const struct args *args)
{
    const struct verb *verb = NULL;

    if (args->operand[0] != NULL) {
        verb = verb_find(args->operand[0]);
        if (verb == NULL) {
            complain("there is no verb \"%s\"%s; `holdfast help` lists them",
                     args->operand[0], hint_verb(args->operand[0]));
            return EXIT_USAGE;
        }
    }
    help_print(verb);
    return 0;
}
