/* served_fake.c - see served_fake.h. */
#include "unit/lib/served_fake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct served_fake sfake;

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    size_t  used = strlen(sfake.told);
    va_list args;

    va_start(args, format);
    vsnprintf(sfake.told + used, sizeof sfake.told - used, format, args);
    va_end(args);
}

static void next_call(void)
{
    if (sfake.told[0] != '\0')
        tell("; ");
}

/* ---- A call -------------------------------------------------------------------- */

static void begin(struct hf_served_task *task)
{
    static const char *const names[] = {
        [HF_ENTER] = "enter", [HF_WATCH] = "watch",  [HF_LEAVE] = "leave",
        [HF_LIST] = "list",   [HF_BREAK] = "break",  [HF_DOWNGRADE] = "amend",
        [HF_ASK] = "ask",     [HF_VERIFY] = "prove",
    };

    next_call();
    tell("%s %" PRIu64 " %s", names[task->base.req->op], task->base.req->id,
         task->base.req->name);
}

static void begin_read(struct hf_served_task *task)
{
    next_call();
    tell("read %" PRIu64 " %s", task->base.req->id, task->base.req->name);
}

static void add_number(struct hf_served *served, uint64_t number)
{
    (void)served;
    tell(" %" PRIu64, number);
}

static void add_text(struct hf_served *served, const char *text)
{
    (void)served;
    tell(strlen(text) == 16 ? " secret" : " %s", text);
}

static void add_note(struct hf_served *served, const char *text)
{
    (void)served;
    tell(" '%s'", text != NULL ? text : "");
}

static void add_wish(struct hf_served *served, const struct hf_req *req)
{
    (void)served;
    tell(" %u/%u", req->shape.weight, req->shape.capacity);
    tell(req->only_free ? " only-free" : " limit=%u", req->limit);
}

static void send_call(struct hf_served_task *task)
{
    assert_true(task->flying);
}

static const char *text(const void *reply, size_t index)
{
    return ((const struct served_reply *)reply)->part[index];
}

static int64_t number(const void *reply, size_t index)
{
    return text(reply, index) != NULL ? strtoll(text(reply, index), NULL, 10) : 0;
}

/* ---- Other operations ---------------------------------------------------------- */

static void list(struct hf_served_task *task, int code, const void *reply)
{
    struct hf_place *place = hf_served_places(&sfake.served, 4);

    (void)code;
    assert_non_null(place);
    memcpy(place, sfake.listed, sizeof sfake.listed);
    hf_served_listed(task, (size_t)number(reply, 1), 77);
}

static void over(struct hf_dial *dial)
{
    (void)dial;
    next_call();
    tell("over");
}

/* It never connects. */
static void connect_to(struct hf_dial *dial, const struct hf_address *address)
{
    (void)dial, (void)address;
}

static void go_on(struct hf_dial *dial)
{
    (void)dial;
}

static hf_time patience(const struct hf_dial *dial)
{
    (void)dial;
    return HF_NEVER;
}

static const struct hf_dial_ops dial_ops = {
    .kind = "Fake",
    .is_link = true,
    .connect = connect_to,
    .step = go_on,
    .greet = go_on,
    .read = go_on,
    .patience = patience,
    .over = over,
};

void served_connect(void)
{
    static const struct hf_server here = { "there", "1" };

    sfake.dial = (struct hf_dial){ .ops = &dial_ops,
                                   .store = &sfake.served.base,
                                   .now = &sfake.served.remote.now,
                                   .list = &here,
                                   .servers = 1 };
    hf_dial_init(&sfake.dial, 1);
    sfake.dial.here = here;
    sfake.dial.phase = HF_DIAL_READY;
}

static void session_gone(struct hf_served *served)
{
    next_call();
    tell("gone");
    hf_remote_lose(&served->remote);
}

static void session_again(struct hf_served *served)
{
    (void)served;
    next_call();
    tell("again");
}

static bool renew(struct hf_served *served)
{
    next_call();
    tell("renew");
    if (!sfake.breaks)
        return true;
    sfake.dial.phase = HF_DIAL_RESTING;
    hf_served_tasks_fail(served);
    return false;
}

static void confirm(struct hf_served_task *task)
{
    struct hf_served_place *place =
        hf_served_place_find(&sfake.served, task->base.req->id);

    next_call();
    tell("confirm");
    place->safe = true;
    hf_served_show(task);
}

static hf_time watch_until(struct hf_served *served, const void *reply)
{
    (void)served;
    (void)reply;
    return sfake.watch_until;
}

static void want_messages(struct hf_served *served, bool at_once)
{
    (void)served;
    next_call();
    tell("news %d", at_once);
}

static void renew_in(struct hf_served *served, int64_t us)
{
    (void)served;
    next_call();
    tell("renew in %" PRId64, us);
}

static const struct hf_served_ops ops = {
    .task_size = sizeof(struct hf_served_task),
    .begin = begin,
    .begin_read = begin_read,
    .add_number = add_number,
    .add_text = add_text,
    .add_note = add_note,
    .add_seq = add_number,
    .add_wish = add_wish,
    .send = send_call,
    .number = number,
    .text = text,
    .list = list,
    .session_gone = session_gone,
    .session_again = session_again,
    .renew = renew,
    .confirm = confirm,
    .watch_until = watch_until,
    .want_messages = want_messages,
    .renew_in = renew_in,
};

/* ---- Its user ------------------------------------------------------------------ */

int served_start(void **state)
{
    (void)state;
    memset(&sfake, 0, sizeof sfake);
    hf_served_init(&sfake.served, &ops, &sfake.dial);
    sfake.served.remote.now = HF_SEC;
    served_connect();
    return 0;
}

int served_stop(void **state)
{
    (void)state;
    for (struct hf_task *at = sfake.served.remote.tasks; at != NULL; at = at->next)
        ((struct hf_served_task *)at)->flying = false;
    hf_remote_hush(&sfake.served.remote);
    hf_served_finish(&sfake.served);
    return 0;
}

static void on_done(struct hf_req *req)
{
    size_t number = (size_t)(req - sfake.req);

    sfake.answers[number]++;
    sfake.places = req->status == 0 ? req->line.count : 0;
    assert_in_range(sfake.places, 0, 4);
    for (size_t i = 0; i < sfake.places; i++)
        sfake.place[i] = req->line.place[i];
    if (req->standing.asked == NULL)
        return;
    snprintf(sfake.asked[number], sizeof sfake.asked[number], "%s", req->standing.asked);
    req->standing.asked = sfake.asked[number];
}

struct hf_req *served_ask(unsigned number, enum hf_op op, uint64_t id)
{
    struct hf_req *req = &sfake.req[number];

    req->op = op;
    req->name = "a";
    req->id = id;
    if (req->shape.capacity == 0)
        req->shape = (struct hf_shape){ 1, 1, false };
    req->done = on_done;
    req->status = 1;
    hf_remote_submit(&sfake.served.base, req);
    served_run();
    return req;
}

void served_run(void)
{
    assert_false(hf_remote_run(&sfake.served.remote));
}

struct hf_req *served_watch(unsigned number, uint64_t id, unsigned known)
{
    sfake.req[number].standing = sfake.req[known].standing;
    return served_ask(number, HF_WATCH, id);
}

void served_answer_with(unsigned number, enum hf_served_fault fault,
                        const struct served_reply *reply)
{
    assert_non_null(sfake.req[number].work);
    hf_served_answered(sfake.req[number].work, fault, reply);
}

struct hf_served_place *served_enter(uint64_t id, bool granted)
{
    char seq[24];

    snprintf(seq, sizeof seq, "%" PRIu64, id * 100);
    served_ask(0, HF_ENTER, id);
    served_answer(0, "0", granted ? "g" : "w", seq, "-1", "9", "1", granted ? "0" : "2");
    assert_int_equal(sfake.req[0].status, 0);
    sfake.told[0] = '\0';
    return hf_served_place_find(&sfake.served, id);
}
