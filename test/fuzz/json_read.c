/* json_read.c - anything as a request to holdfast-web or `holdfast serve`. */
#include "fuzz/fuzz.h"

#include "text.h"
#include "view/json_read.c"

#include <assert.h>
#include <stdlib.h>

/* What was read is UTF-8 that ends inside of its room, whatever was said. */
static void check_value(const char *value, size_t size)
{
    assert(memchr(value, '\0', size) != NULL);
    for (size_t length; *value != '\0'; value += length) {
        length = text_utf8(value);
        assert(length > 0);
    }
}

/* A fault has a text, and the same object is read with and without other members. */
static void read_both_ways(const char *text, size_t size)
{
    char               name[8] = "", reason[64] = "", error[200];
    int64_t            number = 0;
    bool               truth = false;
    struct json_member member[] = { { "name", JSON_TEXT, name, sizeof name, false },
                                    { "reason", JSON_TEXT, reason, sizeof reason, false },
                                    { "number", JSON_NUMBER, &number, 0, false },
                                    { "truth", JSON_BOOL, &truth, 0, false } };

    bool alone = json_read(text, size, member, 4, JSON_ALONE, error, sizeof error);
    assert(alone == (error[0] == '\0'));
    bool skipping = json_read(text, size, member, 4, JSON_SKIPPING, NULL, 0);
    assert(skipping || !alone);
    check_value(name, sizeof name);
    check_value(reason, sizeof reason);
    assert(number >= 0 && number <= JSON_NUMBER_MAX);
    assert(!skipping || (size >= 2 && memchr(text, '{', size) != NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);

    assert(text != NULL);
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    read_both_ways(text, size);
    free(text);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_main(argc, argv, __FILE__);
}
#endif
