/* cancel.c - blocking calls are not cancellation points: pthread_cancel() does not end a
 * thread inside them, where it would leave descriptors, or the gate of a file, behind. */
#include "lib/lab.h"

#include "holdfast.h"

#include <pthread.h>

#define LIMIT 20000 /* ms */

struct scene {
    const char       *url;
    struct hf_client *client;
    struct hf_lock   *lock;
    uint8_t           will[1024];
    int               will_size;
    int               result;
    bool              returned;
    void (*call)(struct scene *scene);
};

static void call_open(struct scene *scene)
{
    scene->result = hf_open(scene->url, NULL, &scene->client);
}

static void call_lock(struct scene *scene)
{
    scene->result = hf_mutex(scene->client, "canceled", &scene->lock);
    if (scene->result == 0) /* each call has a thread of its own */
        scene->result = hf_set_any_thread(scene->lock, true);
}

static void call_acquire(struct scene *scene)
{
    scene->result = hf_acquire(scene->lock, LIMIT);
}

static void call_inspect(struct scene *scene)
{
    struct hf_report *report = NULL;

    scene->result = hf_inspect(scene->client, "canceled", LIMIT, &report);
    hf_report_free(report);
}

static void call_doctor(struct scene *scene)
{
    struct hf_findings *findings = NULL;

    scene->result = hf_doctor(scene->client, "canceled", LIMIT, &findings);
    hf_findings_free(findings);
}

static void call_will(struct scene *scene)
{
    scene->will_size = hf_will(scene->client, scene->will, sizeof scene->will);
    scene->result = scene->will_size < 0 ? scene->will_size : 0;
}

static void call_release(struct scene *scene)
{
    scene->result = hf_release(scene->lock);
}

static void call_free(struct scene *scene)
{
    hf_lock_free(scene->lock);
}

static void call_execute(struct scene *scene)
{
    scene->result = hf_execute(scene->will, (size_t)scene->will_size, LIMIT, NULL, 0);
}

static void call_close(struct scene *scene)
{
    hf_close(scene->client);
}

static void *call_canceled(void *data)
{
    struct scene *scene = data;

    pthread_cancel(pthread_self()); /* from now on the next cancellation point ends it */
    scene->call(scene);
    scene->returned = true;
    pthread_testcancel();
    return NULL;
}

static const struct {
    const char *name;
    void (*call)(struct scene *scene);
} calls[] = {
    { "open", call_open },       { "lock", call_lock },       { "acquire", call_acquire },
    { "inspect", call_inspect }, { "doctor", call_doctor },   { "release", call_release },
    { "will", call_will },       { "execute", call_execute }, { "free", call_free },
    { "close", call_close },
};

static void no_call_is_a_cancellation_point(void **state)
{
    struct lab  *lab = *state;
    struct scene scene = { .url = lab->url };

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        pthread_t thread;
        void     *end;
        scene.call = calls[i].call;
        scene.returned = false;
        assert_int_equal(pthread_create(&thread, NULL, call_canceled, &scene), 0);
        assert_int_equal(pthread_join(thread, &end), 0);
        if (!scene.returned || scene.result != 0)
            fail_msg("%s: %s", calls[i].name,
                     scene.returned ? hf_errname(scene.result) : "canceled inside it");
        assert_ptr_equal(end, PTHREAD_CANCELED); /* it can be canceled again */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_call_is_a_cancellation_point, lab_setup,
                                        lab_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
