/* store_url.c - anything as the URL of a store, with its user, its servers and its
 * parameters.  Nothing is connected: a store's open() does not wait for its server. */
#include "client/url.h"
#include "fuzz/fuzz.h"
#include "holdfast.h"
#include "redact.h"
#include "store/sqlite/files/files.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void check_message(int r, const char *errmsg)
{
    assert(r == 0 || r == HF_EINVAL || r == HF_EUNSUPPORTED || r == HF_ENOTFOUND);
    assert(r == 0 || errmsg[0] != '\0');
    assert(strlen(errmsg) < HF_ERRMSG_MAX);
}

/* Opening a file would make it, and a memory: store has only a name. */
static void check_store(struct hf_url *url)
{
    char             errmsg[HF_ERRMSG_MAX] = "";
    struct hf_store *store;

    url->config.ttl_ms = 15000;
    if (strcmp(hf_url_scheme(url->config.scheme), "sqlite") == 0) {
        struct hf_sq_files files;
        check_message(hf_sq_files_init(&files, url->config.rest, false, errmsg), errmsg);
        return;
    }
    int r = hf_store_open(&url->config, errmsg, &store);
    check_message(r, errmsg);
    if (r == 0)
        store->impl->close(store);
}

/* A URL as people see it is a URL, and has no password any more. */
static void check_shown(const char *given)
{
    char          errmsg[HF_ERRMSG_MAX] = "";
    struct hf_url again;
    char         *shown = hf_url_shown(given);

    assert(shown != NULL && strlen(shown) <= strlen(given));
    if (strncmp(given, "redis", 5) == 0 && hf_url_parse(shown, &again, errmsg) == 0) {
        assert(again.config.user == NULL || strchr(again.config.user, ':') == NULL);
        hf_url_finish(&again);
    }
    free(shown);
}

static void check_wiped(const char *text, size_t size)
{
    char *copy = malloc(size + 1);

    assert(copy != NULL);
    memcpy(copy, text, size + 1);
    (void)redact_url_has(copy);
    redact_url_wipe(copy);
    assert(strlen(copy) <= size);
    redact_text(copy);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char          errmsg[HF_ERRMSG_MAX] = "";
    struct hf_url url;
    char         *text = malloc(size + 1);

    assert(text != NULL);
    memcpy(text, bytes, size);
    text[size] = '\0';
    setenv("HOME", "/home/ana", 1);
    int r = hf_url_parse(text, &url, errmsg);
    check_message(r, errmsg);
    if (r == 0) {
        assert(url.config.params <= HF_URL_PARAMS && url.config.scheme[0] != '\0');
        check_shown(url.config.given);
        check_store(&url);
        hf_url_finish(&url);
    }
    check_wiped(text, strlen(text));
    free(text);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_run(argc, argv, __FILE__, 4000);
}
#endif
