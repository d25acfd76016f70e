/* lock_name.c - anything as the name of a lock. */
#include "base/name.h"
#include "fuzz/fuzz.h"

#include "text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The character as Unicode has it, read in another way than base/name.c does. */
static uint32_t character(const unsigned char *text, size_t length)
{
    uint32_t code = length == 1   ? text[0]
                    : length == 2 ? text[0] & 0x1fu
                    : length == 3 ? text[0] & 0x0fu
                                  : text[0] & 0x07u;

    for (size_t i = 1; i < length; i++)
        code = code << 6 | (text[i] & 0x3fu);
    return code;
}

/* A good name is no path, breaks no line and is shown as it is written. */
static void check_good(const char *name)
{
    size_t size = strlen(name);
    char   again[4];

    assert(size >= 1 && size <= HF_NAME_MAX);
    assert(strcmp(name, ".") != 0 && strstr(name, "..") == NULL);
    for (size_t at = 0, length; at < size; at += length) {
        length = hf_utf8_length(name + at);
        assert(length >= 1 && length <= 4 && at + length <= size);
        uint32_t code = character((const unsigned char *)name + at, length);
        assert(code >= 0x20 && code != 0x7f && code != '/');
        assert(code < 0x80 || code > 0x9f);
        assert(code <= 0x10ffff && (code < 0xd800 || code > 0xdfff));
        assert(text_encode(again, code) == length);
        assert(memcmp(again, name + at, length) == 0);
    }
}

/* Both parsers of UTF-8 must accept the same texts. */
static void check_utf8(const char *text, size_t size)
{
    for (size_t at = 0; at < size; at++)
        assert(hf_utf8_length(text + at) == text_utf8(text + at) || text[at] == '\0');
}

/* Whatever it is, a person sees it as one line of UTF-8. */
static void check_shown(const char *text, size_t size)
{
    size_t room = TEXT_CLEAN_FACTOR * size + 1;
    char  *shown = malloc(room);

    assert(shown != NULL);
    text_clean(shown, room, text);
    for (const char *at = shown; *at != '\0'; at += text_utf8(at)) {
        assert(text_utf8(at) > 0);
        assert(!text_is_hidden(text_character(at)));
    }
    size_t columns = text_columns(shown);
    assert(text_fit(shown, columns) <= strlen(shown));
    text_cut(shown, size % 20 + 3);
    assert(text_columns(shown) <= size % 20 + 3);
    free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *name = malloc(size + 1);

    assert(name != NULL);
    memcpy(name, bytes, size);
    name[size] = '\0';
    const char *fault = hf_name_fault(name);
    assert(fault == NULL || fault[0] != '\0');
    if (fault == NULL)
        check_good(name);
    check_utf8(name, size);
    check_shown(name, strlen(name));
    (void)hf_name_hash(name);
    free(name);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_main(argc, argv, __FILE__);
}
#endif
