/* serve_request.c - anything as a line for `holdfast serve`. */
#include "fuzz/fuzz.h"

#include "serve/request.c"

#include <assert.h>
#include <stdlib.h>

/* A good request is one that the library can be asked as it is. */
static void check_request(const struct request *request)
{
    assert(request->id > 0 && request->id <= JSON_NUMBER_MAX);
    assert(memchr(request->name, '\0', sizeof request->name) != NULL);
    assert(memchr(request->text, '\0', sizeof request->text) != NULL);
    assert(request->has_name || request->name[0] == '\0');
    assert(request->timeout_ms >= -1 && request->max_waiters <= UINT32_MAX);
    assert((request->kind == KIND_SEMAPHORE) == (request->slots > 0));
    assert(request->weight <= request->slots && request->slots < UINT32_MAX);
    assert(request->op != REQUEST_BREAK || request->token > 0);
    assert(request->op != REQUEST_CHECK || request->lock > 0 || request->token > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct request request;
    char           error[256] = "";
    char          *text = malloc(size + 1);

    assert(text != NULL);
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    if (request_read(text, size, &request, error, sizeof error))
        check_request(&request);
    else
        assert(error[0] != '\0');
    free(text);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_main(argc, argv, __FILE__);
}
#endif
