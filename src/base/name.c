/* name.c - see name.h. */
#include "base/name.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Table 3-7 of the Unicode standard: no overlong forms, no surrogates. */
size_t hf_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t               more;
    uint32_t             code, least;

    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        more = 1, code = s[0] & 0x1fu, least = 0x80;
    else if ((s[0] & 0xf0) == 0xe0)
        more = 2, code = s[0] & 0x0fu, least = 0x800;
    else if (s[0] >= 0xf0 && s[0] <= 0xf4)
        more = 3, code = s[0] & 0x07u, least = 0x10000;
    else
        return 0;

    for (size_t i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) /* also ends at a NUL */
            return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code >= least && code <= 0x10ffff && !surrogate ? more + 1 : 0;
}

static bool is_control(const char *s)
{
    unsigned char a = (unsigned char)s[0], b = (unsigned char)s[1];

    return a < 0x20 || a == 0x7f || (a == 0xc2 && b >= 0x80 && b <= 0x9f);
}

const char *hf_name_fault(const char *name)
{
    if (name == NULL || name[0] == '\0')
        return "is empty";
    if (strlen(name) > HF_NAME_MAX)
        return "is longer than 255 bytes";
    for (const char *s = name; *s != '\0';) {
        size_t length = hf_utf8_length(s);
        if (length == 0)
            return "is not valid UTF-8";
        if (is_control(s))
            return "contains a control character";
        s += length;
    }
    if (strchr(name, '/') != NULL)
        return "contains '/': it is a name, not a path";
    if (strstr(name, "..") != NULL || strcmp(name, ".") == 0)
        return "is \".\" or contains \"..\"";
    return NULL;
}

uint32_t hf_name_hash(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}
