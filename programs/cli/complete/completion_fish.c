/* completion_fish.c - see completion.h. */
#include "complete/completion.h"

#include <stdio.h>

/* Inside single quotes. */
static void print_escaped(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
}

static void print_fish_option(const struct verb *verb, const struct option_row *row)
{
    printf("complete -c holdfast -n '__holdfast_at %s option' -l %s", verb->name,
           row->name);
    if (row->id < 256)
        printf(" -s %c", row->id);
    if (row->value != NULL)
        printf(completion_takes_file(row) ? " -r -F" : " -x");
    if (completion_words(row) != NULL)
        printf(" -a '%s'", completion_words(row));
    printf(" -d '");
    print_escaped(row->help);
    printf("'\n");
}

/* fish quotes what a command writes. */
static const char helpers[] =
    "# What the word at the cursor is: verb, option (or NAME before its `--`), name\n"
    "# (behind it), more, or the command and from which word on.\n"
    "function __holdfast_state\n"
    "    set -l words (commandline -opc)\n"
    "    set -l operand 0\n"
    "    set -l ended 0\n"
    "    set -l begun 0\n"
    "    set -l i 3\n"
    "    if test (count $words) -lt 2\n"
    "        echo verb\n"
    "        return\n"
    "    end\n"
    "    while test $i -le (count $words)\n"
    "        set -l word $words[$i]\n"
    "        if test $operand = 1; and contains -- $words[2] $__holdfast_commands\n"
    "            if test \"x$word\" = x--; and test $begun = 0\n"
    "                set begun 1\n"
    "                set ended 1\n"
    "                set i (math $i + 1)\n"
    "                continue\n"
    "            end\n"
    "            if test $ended = 1; or not string match -q -- '-*' $word\n"
    "                break\n"
    "            end\n"
    "        end\n"
    "        if test $ended = 1; or not string match -q -- '-*' $word\n"
    "            set operand (math $operand + 1)\n"
    "        else if test \"x$word\" = x--\n"
    "            set ended 1\n"
    "        else if contains -- $word $__holdfast_valued\n"
    "            set i (math $i + 1)\n"
    "        end\n"
    "        set i (math $i + 1)\n"
    "    end\n"
    "    if test $operand = 1; and contains -- $words[2] $__holdfast_commands\n"
    "        echo $words[2] command $i $begun\n"
    "    else if test $operand = 0; and test $ended = 1\n"
    "        echo $words[2] name\n"
    "    else if test $operand = 0\n"
    "        echo $words[2] option\n"
    "    else if test $ended = 0\n"
    "        echo $words[2] option done\n"
    "    end\n"
    "end\n\n"
    "function __holdfast_at # verb, what\n"
    "    set -l state (__holdfast_state | string split ' ')\n"
    "    switch \"$argv[2]\"\n"
    "    case name\n"
    "        contains -- \"$state[2]\" name option; and test \"$state[3]\" != done\n"
    "        and test \"$state[1]\" = $argv[1]\n"
    "    case option\n"
    "        test \"$state[1]\" = $argv[1]; and begin\n"
    "            test \"$state[2]\" = option\n"
    "            # between NAME and the command\n"
    "            or test \"$state[2]\" = command -a \"$state[4]\" = 0 -a \"$state[3]\" -gt (count (commandline -opc))\n"
    "        end\n"
    "    case '*'\n"
    "        test \"$state[1]\" = $argv[1]; and test \"$state[2]\" = \"$argv[2]\"\n"
    "    end\n"
    "end\n\n"
    "function __holdfast_names\n"
    "    set -l state (__holdfast_state | string split ' ')\n"
    "    for name in (holdfast completion names 2>/dev/null)\n"
    "        test \"$state[2]\" = option; and string match -q -- '-*' $name; and continue\n"
    "        string match -q -- '~*' $name; and continue # fish would not quote it\n"
    "        printf '%s\\n' $name\n"
    "    end\n"
    "end\n\n"
    "function __holdfast_command\n"
    "    set -l state (__holdfast_state | string split ' ')\n"
    "    set -l words (commandline -opc)\n"
    "    complete -C (string join ' ' -- (string escape -- $words[$state[3]..]) (commandline -ct))\n"
    "end\n\n";

static void print_commands(void)
{
    printf("set -g __holdfast_commands");
    for (size_t i = 0; i < verb_count; i++)
        if (verb_table[i].command)
            printf(" %s", verb_table[i].name);
    printf("\nset -g __holdfast_valued ");
    completion_print_options(NULL, true);
    printf("\n\n");
}

void completion_fish(void)
{
    printf("# fish completion for holdfast; made by `holdfast completion fish`\n");
    print_commands();
    printf("%scomplete -c holdfast -f\n", helpers);
    for (size_t i = 0; i < verb_count; i++) {
        const struct verb *verb = &verb_table[i];
        if (verb->summary == NULL)
            continue;
        printf("complete -c holdfast -n '__holdfast_at verb' -a %s -d '", verb->name);
        print_escaped(verb->summary);
        printf("'\n");
        if (verb->names)
            printf("complete -c holdfast -n '__holdfast_at %s name' "
                   "-a '(__holdfast_names)'\n",
                   verb->name);
        if (completion_begins_with_file(verb))
            printf("complete -c holdfast -n '__holdfast_at %s name' -F\n", verb->name);
        if (completion_begins_with_verb(verb)) {
            printf("complete -c holdfast -n '__holdfast_at %s name' -a '", verb->name);
            completion_print_verbs();
            printf("'\n");
        }
        if (verb->command)
            printf("complete -c holdfast -n '__holdfast_at %s command' "
                   "-a '(__holdfast_command)'\n",
                   verb->name);
        for (size_t j = 0; j < option_count; j++)
            if (completion_has(verb, &option_table[j]))
                print_fish_option(verb, &option_table[j]);
    }
}
