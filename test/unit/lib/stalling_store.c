/* stalling_store.c - see stalling_store.h. */
#include "unit/lib/stalling_store.h"

#include "lib/recipe.h"
#include "store/memory/memory.h"

struct stalling_store stalling_store;

static struct hf_store_impl impl;

static void double_process(struct hf_store *store, hf_time now, bool readable)
{
    if (!stalling_store.stalled)
        hf_memory_store.process(store, now, readable);
    else
        store->wake = now + 5 * HF_MS;
    if (stalling_store.after != NULL)
        stalling_store.after(store, now);
}

/* Answer `grants` more ENTERs, and no other request. */
static void double_submit(struct hf_store *store, struct hf_req *req)
{
    hf_memory_store.submit(store, req);
    if (stalling_store.stalled && req->op == HF_ENTER && stalling_store.grants > 0) {
        stalling_store.grants--;
        hf_memory_store.process(store, hf_now(), true);
    }
}

struct hf_client *stalling_store_open(unsigned flags, const char *url)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;

    options.flags = flags;
    stalling_store.stalled = false;
    stalling_store.grants = 0;
    stalling_store.after = NULL;
    impl = hf_memory_store;
    impl.process = double_process;
    impl.submit = double_submit;
    assert_int_equal(hf_open(url, &options, &client), 0);
    bool swapped = false;
    while (!swapped) { /* no thread may be in the store meanwhile */
        int cancel = hf_drive_begin(&client->drive);
        if (!client->drive.turning) {
            client->store->impl = &impl;
            swapped = true;
        }
        hf_drive_end(&client->drive, cancel);
    }
    recipe_await_line(client, "one", 0); /* connected */
    return client;
}

void stalling_store_close(struct hf_client *client)
{
    stalling_store.stalled = false;
    hf_close(client);
}
