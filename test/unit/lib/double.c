/* double.c - see double.h. */
#include "unit/lib/double.h"

#include "lib/recipe.h"
#include "store/memory/memory.h"

struct double_store double_store;

static struct hf_store_impl impl;

static void double_process(struct hf_store *store, hf_time now, bool readable)
{
    if (!double_store.stalled)
        hf_memory_store.process(store, now, readable);
    else
        store->wake = now + 5 * HF_MS;
    if (double_store.after != NULL)
        double_store.after(store, now);
}

/* Answer so many requests more, and then no other. */
static void double_submit(struct hf_store *store, struct hf_req *req)
{
    hf_memory_store.submit(store, req);
    if (double_store.stalled && req->op == HF_ENTER && double_store.grants > 0) {
        double_store.grants--;
        hf_memory_store.process(store, hf_now(), true);
    }
}

struct hf_client *double_open(unsigned flags, const char *url)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;

    options.flags = flags;
    double_store.stalled = false;
    double_store.grants = 0;
    double_store.after = NULL;
    impl = hf_memory_store;
    impl.process = double_process;
    impl.submit = double_submit;
    assert_int_equal(hf_open(url, &options, &client), 0);
    bool swapped = false;
    while (!swapped) { /* nobody may be in the store meanwhile */
        int cancel = hf_drive_begin(&client->drive);
        if (!client->drive.turning) {
            client->store->impl = &impl;
            swapped = true;
        }
        hf_drive_end(&client->drive, cancel);
    }
    recipe_await_line(client, "one", 0); /* it is connected */
    return client;
}

void double_close(struct hf_client *client)
{
    double_store.stalled = false;
    hf_close(client);
}
