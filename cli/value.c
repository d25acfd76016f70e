/* value.c - see value.h. */
#include "value.h"

#include "cli.h"
#include "text.h"

#include <string.h>

static int bad_value(const char *option, const char *value, const char *want)
{
    complain("--%s \"%s\" is not %s", option, value, want);
    return EXIT_USAGE;
}

int value_count(const char *option, const char *value, uint32_t *ret)
{
    uint64_t number;

    if (!text_parse_number(value, 1, UINT32_MAX - 1, &number))
        return bad_value(option, value, "a number from 1 on");
    *ret = (uint32_t)number;
    return 0;
}

int value_duration(const char *option, const char *value, int64_t *ret)
{
    int64_t ms = text_parse_duration(value);

    if (ms < 0)
        return bad_value(option, value, "a time such as 10, 2.5, 500ms, 2m or 1h");
    *ret = ms;
    return 0;
}

int value_exit_code(const char *option, const char *value, int *ret)
{
    uint64_t number;

    if (!text_parse_number(value, 0, 255, &number))
        return bad_value(option, value, "a number from 0 to 255");
    *ret = (int)number;
    return 0;
}

int value_signal(const char *option, const char *value, int *ret)
{
    int signal = text_parse_signal(value);

    if (signal < 0)
        return bad_value(option, value, "a signal such as TERM, INT or 15");
    *ret = signal;
    return 0;
}

int value_leftovers(const char *option, const char *value, enum leftovers *ret)
{
    static const char *const words[] = {
        [LEFTOVERS_WAIT] = "wait", [LEFTOVERS_END] = "end", [LEFTOVERS_LEAVE] = "leave"
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(value, words[i]) == 0) {
            *ret = (enum leftovers)i;
            return 0;
        }
    return bad_value(option, value, "wait, end or leave");
}

int value_token(const char *option, const char *value, uint64_t *ret)
{
    if (!text_parse_number(value, 1, UINT64_MAX, ret))
        return bad_value(option, value, "a token as `holdfast show` prints it");
    return 0;
}

int value_role(const char *option, const char *value, const char **ret)
{
    if (*value == '\0')
        return bad_value(option, value, "the name of a role");
    *ret = value;
    return 0;
}
