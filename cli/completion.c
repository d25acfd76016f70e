/* completion.c - completion: scripts for shells, from the tables of options.c.
 *
 * A hidden verb: whoever builds Holdfast writes its output to files.  `completion
 * names` prints the names of locks in use, which is what the scripts call.
 */
#include "options.h"

#include "cli.h"
#include "entry.h"
#include "session.h"

#include <stdio.h>
#include <string.h>

static bool has(const struct verb *verb, const struct option_row *row)
{
    return (row->verbs & verb->bit) != 0;
}

/* The options of a verb as words; only those that take a value, if so wanted. */
static void print_words(const struct verb *verb, bool valued)
{
    const char *space = "";

    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &option_table[i];
        if (!has(verb, row) || (valued && row->value == NULL))
            continue;
        if (row->id < 256)
            printf("%s-%c", space, row->id), space = " ";
        printf("%s--%s", space, row->name), space = " ";
    }
}

static bool takes_file(const struct option_row *row)
{
    return row->value != NULL && strcmp(row->value, "FILE") == 0;
}

#define SIGNALS "TERM INT HUP QUIT KILL USR1 USR2"

static bool takes_signal(const struct option_row *row)
{
    return row->value != NULL && strcmp(row->value, "SIGNAL") == 0;
}

/* As a pattern of bash's `case`. */
static void print_signal_options(void)
{
    const char *bar = "";

    for (size_t i = 0; i < option_count; i++)
        if (takes_signal(&option_table[i]))
            printf("%s--%s", bar, option_table[i].name), bar = " | ";
}

static void print_verbs(void)
{
    const char *space = "";

    for (size_t i = 0; i < verb_count; i++)
        if (verb_table[i].summary != NULL)
            printf("%s%s", space, verb_table[i].name), space = " ";
}

static void print_bash_case(const struct verb *verb)
{
    printf("    %s)\n        options='", verb->name);
    print_words(verb, false);
    printf("'\n        valued='");
    print_words(verb, true);
    printf("'\n        names=%d command=%d ;;\n", verb->names, verb->command);
}

static void print_bash(void)
{
    printf("# bash completion for holdfast; made by `holdfast completion bash`\n"
           "_holdfast() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    local options valued names=0 command=0 operand=0 i word\n"
           "    COMPREPLY=()\n"
           "    if ((COMP_CWORD == 1)); then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    print_verbs();
    printf("' -- \"$cur\")\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < verb_count; i++)
        if (verb_table[i].summary != NULL)
            print_bash_case(&verb_table[i]);
    printf("    *) return ;;\n    esac\n"
           "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
           "        word=${COMP_WORDS[i]}\n"
           "        case $word in\n"
           "        --) ;;\n"
           "        -*) [[ \" $valued \" == *\" $word \"* ]] && ((i++)) ;;\n"
           "        *)\n"
           "            ((operand++))\n"
           "            ((command && operand == 2)) && break ;;\n"
           "        esac\n"
           "    done\n"
           "    if ((command && operand == 2)); then\n"
           "        if declare -F _command_offset >/dev/null; then\n"
           "            _command_offset \"$i\"\n"
           "        else\n"
           "            mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
           "        fi\n"
           "    elif [[ \" $valued \" == *\" $prev \"* ]]; then\n"
           "        case $prev in\n        ");
    print_signal_options();
    printf(") mapfile -t COMPREPLY < <(compgen -W '" SIGNALS "' -- \"$cur\") ;;\n"
           "        --url-file) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
           "        esac\n"
           "    elif [[ $cur == -* ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
           "    elif ((names && operand == 0)); then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$(holdfast completion names "
           "2>/dev/null)\" -- \"$cur\")\n"
           "    elif ((command && operand == 1)); then\n"
           "        mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
           "    fi\n"
           "} && complete -F _holdfast holdfast\n");
}

/* Inside single quotes, and with a backslash before what is special there: in
 * zsh's descriptions ':', '[' and ']'. */
static void print_escaped(const char *text, const char *special)
{
    for (; *text != '\0'; text++) {
        if (strchr(special, *text) != NULL)
            putchar('\\');
        fputs(*text == '\'' ? "'\\''" : (char[]){ *text, '\0' }, stdout);
    }
}

static void print_zsh_option(const struct option_row *row)
{
    char names[64];

    if (row->id < 256)
        snprintf(names, sizeof names, "{-%c,--%s%s}", row->id, row->name,
                 row->value ? "+" : "");
    else
        snprintf(names, sizeof names, "--%s%s", row->name, row->value ? "=" : "");
    if (row->id < 256 && row->value != NULL)
        snprintf(names, sizeof names, "{-%c+,--%s=}", row->id, row->name);
    printf("            %s'[", names);
    print_escaped(row->help, ":[]");
    printf("]%s%s%s' \\\n", row->value ? ":" : "", row->value ? row->value : "",
           row->value == NULL  ? ""
           : takes_signal(row) ? ":(" SIGNALS ")"
           : takes_file(row)   ? ":_files"
                               : ":");
}

static void print_zsh(void)
{
    printf("#compdef holdfast\n# zsh completion; made by `holdfast completion zsh`\n"
           "_holdfast_names() {\n"
           "    local -a names=(${(f)\"$(holdfast completion names 2>/dev/null)\"})\n"
           "    compadd -a names\n}\n\n"
           "_holdfast() {\n    local -a verbs=(\n");
    for (size_t i = 0; i < verb_count; i++) {
        if (verb_table[i].summary == NULL)
            continue;
        printf("        '%s:", verb_table[i].name);
        print_escaped(verb_table[i].summary, ":");
        printf("'\n");
    }
    printf("    )\n    if ((CURRENT == 2)); then\n        _describe verb verbs\n"
           "        return\n    fi\n    local verb=$words[2]\n    shift words\n"
           "    ((CURRENT--))\n    case $verb in\n");
    for (size_t i = 0; i < verb_count; i++) {
        const struct verb *verb = &verb_table[i];
        if (verb->summary == NULL)
            continue;
        printf("    %s)\n        _arguments -S \\\n", verb->name);
        for (size_t j = 0; j < option_count; j++)
            if (has(verb, &option_table[j]))
                print_zsh_option(&option_table[j]);
        if (verb->names)
            printf("            '1:name:_holdfast_names'");
        else
            printf("            '*:'");
        printf("%s ;;\n", verb->command ? " \\\n            '*::command:_normal'" : "");
    }
    printf("    esac\n}\n\n_holdfast \"$@\"\n");
}

static void print_fish_option(const struct verb *verb, const struct option_row *row)
{
    printf("complete -c holdfast -n '__fish_seen_subcommand_from %s' -l %s", verb->name,
           row->name);
    if (row->id < 256)
        printf(" -s %c", row->id);
    if (row->value != NULL)
        printf(takes_file(row) ? " -r -F" : " -x");
    if (takes_signal(row))
        printf(" -a '" SIGNALS "'");
    printf(" -d '");
    print_escaped(row->help, "\\");
    printf("'\n");
}

static void print_fish(void)
{
    printf("# fish completion for holdfast; made by `holdfast completion fish`\n"
           "complete -c holdfast -f\n");
    for (size_t i = 0; i < verb_count; i++) {
        const struct verb *verb = &verb_table[i];
        if (verb->summary == NULL)
            continue;
        printf("complete -c holdfast -n __fish_use_subcommand -a %s -d '%s'\n",
               verb->name, verb->summary);
        if (verb->names)
            printf("complete -c holdfast -n '__fish_seen_subcommand_from %s' "
                   "-a '(holdfast completion names 2>/dev/null)'\n",
                   verb->name);
        if (verb->command)
            printf("complete -c holdfast -n '__fish_seen_subcommand_from %s' "
                   "-a '(__fish_complete_subcommand)'\n",
                   verb->name);
        for (size_t j = 0; j < option_count; j++)
            if (has(verb, &option_table[j]))
                print_fish_option(verb, &option_table[j]);
    }
}

static int print_names(const struct args *args, struct hf_client *client,
                       const struct hf_report *report)
{
    (void)args;
    (void)client;
    for (size_t i = 0; i < report->count; i += entry_same_name(report, i))
        puts(report->entry[i].name);
    return 0;
}

int completion_main(const struct args *args)
{
    const char *shell = args->operand[0];

    if (strcmp(shell, "names") == 0)
        return session_look(args, NULL, print_names);
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else if (strcmp(shell, "fish") == 0)
        print_fish();
    else {
        complain("completion: \"%s\" is not bash, zsh or fish", shell);
        return EXIT_USAGE;
    }
    return 0;
}
