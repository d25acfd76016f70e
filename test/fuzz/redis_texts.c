/* redis_texts.c - anything as a message of the server's, and as a place that it keeps. */
#include "fuzz/fuzz.h"
#include "store/redis/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static char *copy(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);

    assert(text != NULL);
    memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

static bool nothing_to_renew(struct hf_served *served)
{
    (void)served;
    return true;
}

/* A message is about a place of ours or about none; it never makes one. */
static void hear(char *text)
{
    static const struct hf_served_ops ops = { .task_size = sizeof(struct hf_redis_task),
                                              .renew = nothing_to_renew };
    static struct hf_served           served;
    struct hf_req req = { .id = 7, .name = "a", .shape = { 1, 1, false } };

    memset(&served, 0, sizeof served);
    hf_served_init(&served, &ops, NULL);
    struct hf_served_place *place = hf_served_place_new(&served, &req);
    assert(place != NULL);
    hf_served_message(&served, text);
    assert(served.places == 1 && place->notified <= 1);
    assert(!place->granted && !place->away); /* it knows no secret */
    hf_served_places_drop(&served);
}

/* What is taken for a place has a name and a note that end inside of the text. */
static void read_place(char *text, size_t size)
{
    struct hf_place place;

    if (!hf_redis_place_parse(text, &place))
        return;
    assert(place.line > text && place.line <= text + size);
    assert(place.note > place.line && place.note <= text + size);
    assert(place.line + strlen(place.line) + 1 == place.note);
    assert(place.token == place.seq);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = copy(bytes, size);

    hear(text);
    read_place(text, size);
    free(text);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_main(argc, argv, __FILE__);
}
#endif
