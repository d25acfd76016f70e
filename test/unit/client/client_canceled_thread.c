/* client_canceled_thread.c - blocking calls are not cancellation points: pthread_cancel()
 * does not end a thread inside them, where it would leave descriptors or the write lock
 * of a file behind. */
#include "lib/temp_store.h"

#include "holdfast.h"

#include <pthread.h>

#define LIMIT 20000 /* ms */

struct call {
    const char       *url;
    struct hf_client *client;
    struct hf_lock   *lock;
    uint8_t           key[1024];
    int               key_size;
    int               result;
    bool              returned;
    void (*call)(struct call *call);
};

static void call_open(struct call *call)
{
    call->result = hf_open(call->url, NULL, &call->client);
}

static void call_lock(struct call *call)
{
    call->result = hf_mutex(call->client, "canceled", &call->lock);
    if (call->result == 0) /* each call has a thread of its own */
        call->result = hf_set_any_thread(call->lock, true);
}

static void call_acquire(struct call *call)
{
    call->result = hf_acquire(call->lock, LIMIT);
}

static void call_inspect(struct call *call)
{
    struct hf_report *report = NULL;

    call->result = hf_inspect(call->client, "canceled", LIMIT, &report);
    hf_report_free(report);
}

static void call_doctor(struct call *call)
{
    struct hf_findings *findings = NULL;

    call->result = hf_doctor(call->client, "canceled", LIMIT, &findings);
    hf_findings_free(findings);
}

static void call_key(struct call *call)
{
    call->key_size = hf_session_key(call->client, call->key, sizeof call->key);
    call->result = call->key_size < 0 ? call->key_size : 0;
}

static void call_release(struct call *call)
{
    call->result = hf_release(call->lock);
}

static void call_free(struct call *call)
{
    hf_lock_free(call->lock);
}

static void call_end_session(struct call *call)
{
    call->result = hf_end_session(call->key, (size_t)call->key_size, LIMIT, NULL, 0);
}

static void call_close(struct call *call)
{
    hf_close(call->client);
}

static void *call_canceled(void *data)
{
    struct call *call = data;

    pthread_cancel(pthread_self()); /* from now on the next cancellation point ends it */
    call->call(call);
    call->returned = true;
    pthread_testcancel();
    return NULL;
}

static const struct {
    const char *name;
    void (*call)(struct call *call);
} calls[] = {
    { "open", call_open },       { "lock", call_lock },
    { "acquire", call_acquire }, { "inspect", call_inspect },
    { "doctor", call_doctor },   { "release", call_release },
    { "will", call_key },        { "execute", call_end_session },
    { "free", call_free },       { "close", call_close },
};

static void no_call_is_a_cancellation_point(void **state)
{
    struct temp_store *temp = *state;
    struct call        call = { .url = temp->url };

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        pthread_t thread;
        void     *end;
        call.call = calls[i].call;
        call.returned = false;
        assert_int_equal(pthread_create(&thread, NULL, call_canceled, &call), 0);
        assert_int_equal(pthread_join(thread, &end), 0);
        if (!call.returned || call.result != 0)
            fail_msg("%s: %s", calls[i].name,
                     call.returned ? hf_errname(call.result) : "canceled inside it");
        assert_ptr_equal(end, PTHREAD_CANCELED); /* it can be canceled again */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_call_is_a_cancellation_point, temp_setup,
                                        temp_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
