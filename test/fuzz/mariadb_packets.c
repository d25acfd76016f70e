/* mariadb_packets.c - any packets as the answer of a MariaDB server.  A packet in the input is
 * two bytes of length and that many bytes. */
#include "fuzz/fuzz.h"

#include "holdfast.h"
#include "store/mariadb/wire/wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Each field ends with a NUL, and lies behind the one before it. */
static void read_fields(const struct hf_my_reply *reply)
{
    const char *last = NULL;

    for (size_t row = 0; row < reply->rows; row++) {
        assert(hf_my_columns(reply, row) > 0);
        assert(hf_my_result(reply, row) < reply->results);
        for (size_t i = 0; i < hf_my_columns(reply, row); i++) {
            const char *text = hf_my_text(reply, row, i);
            size_t      size = hf_my_size(reply, row, i);
            int64_t     number = hf_my_number(reply, row, i);
            assert(text != NULL || (size == 0 && number == 0));
            if (text == NULL)
                continue;
            assert(text[size] == '\0' && strlen(text) <= size);
            assert(last == NULL || text > last);
            last = text;
            if (hf_my_is_number(reply, row, i))
                assert(text[0] != '-' || hf_my_unsigned(reply, row, i) == 0);
            else
                assert(number == 0 && hf_my_unsigned(reply, row, i) == 0);
        }
        assert(hf_my_text(reply, row, hf_my_columns(reply, row)) == NULL);
    }
    assert(hf_my_text(reply, reply->rows, 0) == NULL);
}

static void check_error(const struct hf_my_reply *reply)
{
    size_t length = strlen(reply->message);

    assert(length < sizeof reply->message);
    for (size_t i = 0; i < length; i++)
        assert((unsigned char)reply->message[i] >= 0x20);
    assert(reply->error == 0 || strlen(reply->state) == 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct hf_my_reply reply = { .error = 0 };

    while (size >= 2) {
        size_t length = bytes[0] | (size_t)bytes[1] << 8;
        length = length < size - 2 ? length : size - 2;
        uint8_t *packet = malloc(length + 1); /* so that reads beyond its end are seen */
        assert(packet != NULL);
        uint8_t *tight = length > 0 ? realloc(packet, length) : packet;
        assert(tight != NULL);
        memcpy(tight, bytes + 2, length);
        int r = hf_my_reply_take(&reply, tight, length);
        free(tight);
        assert(r == 0 || r == 1 || r == HF_ESTORE || r == HF_ENOMEM);
        read_fields(&reply);
        check_error(&reply);
        if (r != 0)
            hf_my_reply_clear(&reply);
        bytes += 2 + length;
        size -= 2 + length;
    }
    hf_my_reply_finish(&reply);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_main(argc, argv, __FILE__);
}
#endif
