/* completion_bash.c - see completion.h. */
#include "complete/completion.h"

#include <stdio.h>
#include <string.h>

/* Branches of `case`. */
static void print_values(void)
{
    for (size_t i = 0; i < option_count; i++)
        if (completion_words(&option_table[i]) != NULL)
            printf("    --%s) _holdfast_pick '%s' \"$2\" ;;\n", option_table[i].name,
                   completion_words(&option_table[i]));
}

static void print_case(const struct verb *verb)
{
    printf("    %s)\n        options='", verb->name);
    completion_print_options(verb, false);
    printf("'\n        names=%d command=%d files=%d verb=%d ;;\n", verb->names,
           verb->command, completion_begins_with_file(verb),
           completion_begins_with_verb(verb));
}

/* bash has also split words at what is in COMP_WORDBREAKS, such as ':' and '=': the
 * parts that stand together are one word.  index[] is where they begin for bash. */
static const char words[] =
    "# The words up to the cursor, as typed: words[], and where they begin, index[].\n"
    "_holdfast_words() {\n"
    "    local rest=$COMP_LINE i part\n"
    "    words=() index=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        part=${COMP_WORDS[i]}\n"
    "        if ((i == 0)) || [[ $rest == [[:space:]]* ]]; then\n"
    "            words+=(\"$part\") index+=(\"$i\")\n"
    "        else\n"
    "            words[${#words[@]} - 1]+=$part\n"
    "        fi\n"
    "        rest=${rest#\"${rest%%[![:space:]]*}\"}\n"
    "        rest=${rest#\"$part\"}\n"
    "    done\n"
    "}\n\n"
    "# Those that begin with the second argument, of the words in the first.\n"
    "_holdfast_pick() {\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\")\n"
    "}\n\n"
    "# The command that begins with the word of that number.\n"
    "_holdfast_command() {\n"
    "    if declare -F _command_offset >/dev/null; then\n"
    "        _command_offset \"${index[$1]}\"\n"
    "    elif (($1 < last)); then\n"
    "        compopt -o filenames\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$2\")\n"
    "    else\n"
    "        mapfile -t COMPREPLY < <(compgen -c -- \"$2\")\n"
    "    fi\n"
    "}\n\n";

/* Names: `holdfast` itself filters and quotes them, and nothing expands them. */
static const char rest[] =
    "    *) return ;;\n    esac\n"
    "    for ((i = 2; i < last; i++)); do\n"
    "        word=${words[i]}\n"
    "        if ((command && operand == 1)); then\n"
    "            if [[ $word == -- && ! $begun ]]; then\n"
    "                begun=1 ended=1\n"
    "                continue\n"
    "            fi\n"
    "            [[ $ended || $word != -* ]] && break\n"
    "        fi\n"
    "        if [[ $ended || $word != -* ]]; then\n"
    "            ((operand++))\n"
    "        elif [[ $word == -- ]]; then\n"
    "            ended=1\n"
    "        elif [[ \" $valued \" == *\" $word \"* ]]; then\n"
    "            ((i++))\n"
    "        fi\n"
    "    done\n"
    "    if ((i > last)); then\n"
    "        _holdfast_value \"${words[last - 1]}\" \"$2\"\n"
    "    elif ((command && operand == 1 && i < last)) || [[ $begun ]] ||\n"
    "        { ((command && operand == 1)) && [[ $ended || $cur != -* ]]; }; then\n"
    "        _holdfast_command \"$i\" \"$2\"\n"
    "    elif [[ ! $ended && $cur == --*=* ]]; then\n"
    "        _holdfast_value \"${cur%%=*}\" \"$2\"\n"
    "    elif [[ ! $ended && $cur == -* ]]; then\n"
    "        _holdfast_pick \"$options\" \"$2\"\n"
    "    elif ((names && operand == 0)); then\n"
    "        [[ $cur == *\"$2\" ]] && head=${cur:0:${#cur} - ${#2}}\n"
    "        while IFS= read -r word; do\n"
    "            [[ $word == -* && ! $ended ]] || COMPREPLY+=(\"$word\")\n"
    "        done < <(holdfast completion names -- \"$head\" \"$2\" 2>/dev/null)\n"
    "    elif ((verb && operand == 0)); then\n"
    "        _holdfast_pick \"$verbs\" \"$2\"\n"
    "    elif ((files && operand == 0)); then\n"
    "        compopt -o filenames\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$2\")\n"
    "    fi\n"
    "} && complete -F _holdfast holdfast\n";

void completion_bash(void)
{
    printf("# bash completion for holdfast; made by `holdfast completion bash`\n%s",
           words);
    printf("# The value of an option.\n"
           "_holdfast_value() {\n"
           "    case $1 in\n");
    print_values();
    printf(
        "    --url-file)\n"
        "        compopt -o filenames\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$2\") ;;\n"
        "    esac\n"
        "}\n\n"
        "_holdfast() {\n"
        "    local words index options names=0 command=0 files=0 verb=0 operand=0 ended= begun= head= i word\n"
        "    COMPREPLY=()\n"
        "    _holdfast_words\n"
        "    local last=$((${#words[@]} - 1)) cur=${words[-1]}\n"
        "    local valued='");
    completion_print_options(NULL, true);
    printf("' verbs='");
    completion_print_verbs();
    printf("'\n    if ((last == 1)); then\n        _holdfast_pick \"$verbs\" \"$2\"\n"
           "        return\n    fi\n    case ${words[1]} in\n");
    for (size_t i = 0; i < verb_count; i++)
        if (verb_table[i].summary != NULL)
            print_case(&verb_table[i]);
    fputs(rest, stdout);
}
