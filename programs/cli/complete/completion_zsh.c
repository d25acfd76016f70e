/* completion_zsh.c - see completion.h. */
#include "complete/completion.h"

#include <stdio.h>
#include <string.h>

/* Inside single quotes, and with a backslash before what is special there: in
 * descriptions ':', '[' and ']'. */
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
        snprintf(names, sizeof names, row->value ? "{-%c+,--%s=}" : "{-%c,--%s}", row->id,
                 row->name);
    else
        snprintf(names, sizeof names, "--%s%s", row->name, row->value ? "=" : "");
    printf("            %s'[", names);
    print_escaped(row->help, ":[]");
    if (row->value != NULL)
        printf("]:%s:", row->value);
    else
        printf("]");
    if (completion_words(row) != NULL)
        printf("(%s)", completion_words(row));
    else if (completion_takes_file(row))
        printf("_files");
    printf("' \\\n");
}

/* compadd quotes the names itself. */
static const char names[] =
    "_holdfast_names() {\n"
    "    local -a names=(\"${(@f)$(holdfast completion names 2>/dev/null)}\")\n"
    "    [[ ${words[1,CURRENT-1][(Ie)--]} -gt 0 ]] || names=(\"${(@)names:#-*}\")\n"
    "    names=(\"${(@)names:#}\")\n"
    "    compadd \"$@\" -a -- names\n"
    "}\n\n"
    /* `_normal` must see the command alone; a "--" before it is ours. */
    "_holdfast_command() {\n"
    "    if [[ $words[1] == -- ]]; then\n"
    "        shift words\n"
    "        ((CURRENT--))\n"
    "    fi\n"
    "    _normal\n"
    "}\n\n";

void completion_zsh(void)
{
    printf("#compdef holdfast\n# zsh completion; made by `holdfast completion zsh`\n%s"
           "_holdfast() {\n    local -a verbs=(\n",
           names);
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
            if (completion_has(verb, &option_table[j]))
                print_zsh_option(&option_table[j]);
        if (verb->names)
            printf("            '1:name:_holdfast_names'");
        else if (completion_begins_with_file(verb))
            printf("            '1:file:_files'");
        else if (completion_begins_with_verb(verb)) {
            printf("            '1:verb:(");
            completion_print_verbs();
            printf(")'");
        } else
            printf("            '*:'");
        printf("%s ;;\n",
               verb->command ? " \\\n            '*::command:_holdfast_command'" : "");
    }
    printf("    esac\n}\n\n_holdfast \"$@\"\n");
}
