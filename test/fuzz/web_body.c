/* web_body.c - anything as the body of a request to holdfast-web. */
#include "fuzz/fuzz.h"

#include "text.h"
#include "web/body.c"

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char        *text = malloc(size + 1);
    char         name[8], reason[64];
    struct field field[] = { { "name", name, sizeof name },
                             { "reason", reason, sizeof reason } };

    assert(text != NULL);
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    if (body_read(text, size, field, 2)) {
        check_value(name, sizeof name);
        check_value(reason, sizeof reason);
        assert(size >= 2 && memchr(text, '{', size) != NULL);
    }
    free(text);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_main(argc, argv, __FILE__);
}
#endif
