/* stress.c - four sessions with four places each act at random, and two more take turns,
 * while connections break and memory runs out: no two exclusive holders, nobody waits
 * forever, nothing is left, no two holders have one slot.  The checker of test/chaos judges
 * the histories of all seats.  A client may hear late that its place was broken; but one
 * thread drives all, so the history knows: a BREAK that is sent is a deadline.  HF_ZK_SEED:
 * the seed; HF_ZK_STEPS: how many steps; HF_ZK_UNBROKEN: nobody breaks a place.
 *
 *     IDLE -> ENTERING -> WAITING, LOOKING -> HELD, LOOKING, DOWNGRADING
 *     any -> LEAVING -> IDLE
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=60000 */
#include "lib/disturb.h"
#include "lib/no_memory.h"
#include "lib/promise.h"
#include "lib/turns.h"
#include "lib/witness.h"

#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>

#define MANY        4 /* sessions with four seats each */
#define SESSIONS    6 /* the others have one each */
#define SEATS       18
#define QUERIES     4
#define SLOTS       3 /* of the semaphore */
#define draw(below) ((unsigned)(hf_random_next(&seed) % (below)))
#define STEPS       2000
#define LIMIT_MS    60000

enum state { IDLE, ENTERING, WAITING, LOOKING, HELD, DOWNGRADING, LEAVING };

struct seat {
    struct player  *player;
    enum state      state;
    struct hf_shape shape;
    const char     *name; /* of the lock */
    struct turns    history;
    int64_t         broken;          /* when a BREAK was sent; 0: never */
    bool            holds, unsure;   /* unsure: an answer was lost */
    int64_t         left;            /* when LEAVE was sent */
    struct request  request;         /* any but a WATCH; when answered, the view */
    struct request  watching;        /* WAITING, HELD */
    bool            drop, downgrade; /* do so when the WATCH has ended */
    unsigned        stays;           /* steps to stay before it leaves */
};

static struct zkproxy *proxy[SESSIONS];
static struct player   player[SESSIONS];
static struct seat     seat[SEATS];
static struct request  query[QUERIES];
static uint64_t        seed;
static bool            ending;
static unsigned        grants, answers, faults;

/* ---- One seat ----------------------------------------------------------------------- */

static void submit(struct seat *self, enum state state, struct hf_req req)
{
    struct request request = { .req = req };

    self->state = state;
    request.req.name = self->name;
    self->request = request;
    player_submit(self->player, &self->request);
}

static void want(struct seat *self)
{
    static const char *const names[] = { "mutex", "shared", "few" };
    static const char *const own[] = { "own-0", "own-1", "own-2", "own-3" };
    unsigned                 mine = (unsigned)(self->player - player);
    unsigned                 which = draw(8);

    self->name = "two";
    if (mine < MANY)
        self->name = which < 3 ? names[which] : own[draw(8) == 0 ? draw(MANY) : mine];
    self->shape = MUTEX;
    if (mine < MANY && which == 1)
        self->shape = draw(2) ? READER : WRITER;
    if (mine < MANY && which == 2)
        self->shape = semaphore(SLOTS, 1 + draw(SLOTS));
    self->drop = self->downgrade = self->holds = self->unsure = false;
    self->broken = 0;
    self->stays = mine >= MANY && draw(16) == 0 ? 64 : 0; /* the other one leaves soon */
    turns_want(&self->history, self->name, self->shape.weight, self->shape.capacity);
    submit(self, ENTERING,
           (struct hf_req){ .op = HF_ENTER,
                            .id = ++self->player->ids,
                            .shape = self->shape,
                            .only_free = draw(8) == 0,
                            .note = "a note" });
}

static void begin_leave(struct seat *self)
{
    self->left = turns_now();
    submit(self, LEAVING, (struct hf_req){ .op = HF_LEAVE, .id = self->request.req.id });
}

/* Nobody else has its slot, unless a place was broken. */
static void check_slot(const struct seat *self)
{
    assert_in_range(slot_of(&self->request), 0, SLOTS - 1);
    for (const struct seat *other = seat; other < seat + SEATS; other++)
        if (other != self && other->state == HELD && other->name == self->name &&
            other->broken + self->broken == 0)
            assert_int_not_equal(slot_of(&other->request), slot_of(&self->request));
}

/* After a downgrade it is a turn of its own, whose token was that of the writer. */
static void be_granted(struct seat *self)
{
    bool downgraded = self->state == DOWNGRADING;

    if (!self->holds)
        turns_grant(&self->history, downgraded ? 0 : token_of(&self->request));
    if (self->broken > 0)
        self->history.last[self->history.turn].deadline = self->broken;
    grants += !self->holds && !downgraded;
    if (self->shape.capacity == SLOTS)
        check_slot(self);
    self->holds = true;
    self->state = HELD;
}

static void take_view(struct seat *self)
{
    if (self->state == ENTERING && has_place(&self->request))
        turns_place(&self->history);
    if (self->drop) {
        begin_leave(self);
    } else if (!has_place(&self->request)) {
        if (self->state != ENTERING && self->broken == 0)
            fail_msg("%s: nobody has taken it away", self->name);
        begin_leave(self);
    } else if (is_granted(&self->request)) {
        be_granted(self);
    } else {
        if ((self->holds || self->state == DOWNGRADING) && self->broken == 0)
            fail_msg("%s: held, and not granted any more", self->name);
        self->state = WAITING;
    }
    if (self->state == HELD || self->state == WAITING)
        watch(self->player, self->name, &self->request, &self->watching);
}

static void take_answer(struct seat *self)
{
    answers++;
    if (self->state == ENTERING && is_refused(&self->request) && !self->drop) {
        turns_fail(&self->history, "refused");
        self->state = IDLE;
        return;
    }
    switch (self->request.req.status) {
    case 0:
        take_view(self);
        break;
    case HF_EDOWN: /* repeat the request */
        self->unsure = true;
        player_submit(self->player, &self->request);
        break;
    case HF_ECANCELED: /* an earlier, unanswered try may have succeeded */
    case HF_ENOMEM:
        begin_leave(self);
        break;
    default:
        fail_msg("%s: %s", self->name, hf_errname(self->request.req.status));
    }
}

/* After a lost answer LEAVE may not know why the node is gone. */
static void take_farewell(struct seat *self)
{
    int status = self->request.req.status;
    if (status == HF_EDOWN || status == HF_ENOMEM) {
        self->unsure |= status == HF_EDOWN;
        player_submit(self->player, &self->request);
        return;
    }
    if (status != 0 && !(status == HF_ELOST && (self->broken > 0 || self->unsure)))
        fail_msg("%s: LEAVE: %s", self->name, hf_errname(status));
    if (self->holds) /* if the answer to a LEAVE is lost, the next may not know of a BREAK */
        turns_release(&self->history, self->left, self->broken > 0 ? HF_ELOST : status);
    else
        turns_fail(&self->history, "left");
    self->state = IDLE;
}

/* The answer to the WATCH is believed; now and then the place is looked at, too. */
static void hear_watch(struct seat *self)
{
    if (self->drop) {
        begin_leave(self);
    } else if (self->downgrade && self->state == HELD) {
        self->shape = READER; /* other readers may get in from now on */
        turns_release(&self->history, turns_now(), self->broken > 0 ? HF_ELOST : 0);
        turns_want(&self->history, self->name, READER.weight, READER.capacity);
        self->holds = false;
        submit(self, DOWNGRADING,
               (struct hf_req){
                   .op = HF_DOWNGRADE, .id = self->request.req.id, .shape = READER });
    } else if (self->watching.req.status == 0 && draw(8) > 0) {
        (void)take_news(&self->request, &self->watching);
        take_view(self);
    } else {
        self->state = LOOKING;
        to_look(&self->request, self->name, self->request.req.id);
        player_submit(self->player, &self->request);
    }
    self->downgrade = false;
}

static void advance(struct seat *self)
{
    bool watches = self->state == WAITING || self->state == HELD;

    if (self->state == IDLE ||
        (watches ? self->watching.answers : self->request.answers) == 0)
        return;
    if (watches)
        hear_watch(self);
    else if (self->state == LEAVING)
        take_farewell(self);
    else
        take_answer(self);
}

/* ---- Random actions ----------------------------------------------------------------- */

static void cancel(struct seat *self, struct request *request)
{
    self->player->store->impl->cancel(self->player->store, &request->req);
}

static void play(struct seat *self)
{
    switch (self->state) {
    case IDLE:
        if (!ending)
            want(self);
        break;
    case ENTERING:
        if (!ending && draw(16) == 0)
            cancel(self, &self->request);
        break;
    case WAITING:
        self->drop = !ending && draw(self->player < player + MANY ? 16 : 4) == 0;
        if (self->drop)
            cancel(self, &self->watching);
        break;
    case HELD:
        if (!ending && self->stays > 0 && self->stays-- > 0)
            break;
        self->downgrade = !ending && draw(3) == 0 && self->shape.weight == HF_ALL;
        self->drop = !self->downgrade;
        cancel(self, &self->watching);
        break;
    default:
        break;
    }
}

/* A random client sends BREAK or ASK for a random place. */
static void meddle(struct request *request)
{
    struct seat *victim = &seat[draw(SEATS)];
    bool         breaks = draw(2) == 0 && getenv("HF_ZK_UNBROKEN") == NULL;

    if (request->req.op != HF_NOTHING && request->answers == 0)
        return; /* still in flight */
    if (victim->state != WAITING && victim->state != HELD)
        return;
    *request = (struct request){ .req = { .op = breaks ? HF_BREAK : HF_ASK,
                                          .name = victim->name,
                                          .note = "please",
                                          .token = token_of(&victim->request) } };
    name_place(&request->req, place_of(&victim->request));
    if (breaks && victim->broken == 0) {
        victim->broken = turns_now();
        victim->history.last[victim->history.turn].deadline = victim->broken;
    }
    player_submit(&player[draw(SESSIONS)], request);
}

static void one_step(void)
{
    for (unsigned i = 0; i < 4; i++)
        play(&seat[draw(SEATS)]);
    play(&seat[SEATS - 1 - draw(2)]);
    if (!ending && draw(8) == 0)
        meddle(&query[draw(QUERIES)]);
    if (!ending && draw(40) == 0) {
        zkproxy_disturb(proxy[draw(SESSIONS)], &seed);
        faults++;
    }
    fail_every = !ending && draw(10) == 0 ? 1 + draw(9) : 0;
    for (int i = 0; i < SESSIONS; i++)
        player_turn(&player[i], i == 0);
    fail_every = 0;
    for (int i = 0; i < SEATS; i++)
        advance(&seat[i]);
}

/* ---- Main loop ---------------------------------------------------------------------- */

static void start_all(const char *folder)
{
    static char url[SESSIONS][96];
    char        who[16];

    for (int i = 0; i < SESSIONS; i++) {
        proxy[i] = zkproxy_start(witness_server());
        snprintf(url[i], sizeof url[i], "zk://%s?session=60s%s",
                 zkproxy_address(proxy[i]), draw(4) == 0 ? "&style=kazoo" : "");
        promise_use(url[i]);
        player_open_for(&player[i], 60000);
    }
    for (int i = 0; i < SEATS; i++) {
        seat[i].player = &player[i < SEATS - 2 ? i % MANY : i - SEATS + SESSIONS];
        snprintf(who, sizeof who, "seat-%d", i);
        assert_int_equal(turns_open(&seat[i].history, folder, who, who), 0);
    }
}

static bool is_busy(void)
{
    bool busy = false;

    for (int i = 0; i < SEATS; i++)
        busy |= seat[i].state != IDLE;
    for (int i = 0; i < QUERIES; i++)
        busy |= query[i].req.op != HF_NOTHING && query[i].answers == 0;
    return busy;
}

static void nobody_waits_for_ever(void)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    ending = true;
    for (int i = 0; i < SESSIONS; i++) {
        zkproxy_rule(proxy[i], NULL);
        zkproxy_delay(proxy[i], ZKPROXY_BOTH, 0);
    }
    while (is_busy() && hf_now() < end)
        one_step();
    assert_false(is_busy());
}

/* Of a place that was broken the owner may still be about to delete the slot. */
static void nothing_is_left(const char *folder)
{
    for (hf_time end = hf_now() + LIMIT_MS * HF_MS; hf_now() < end; one_step())
        if (witness_count(folder) == 0)
            return;
    assert_int_equal(witness_count(folder), 0);
}

static void exclusion_holds_under_random_actions(void **state)
{
    static const char *const folders[] = { "/mutex", "/shared", "/few",   "/own-0",
                                           "/own-1", "/own-2",  "/own-3", "/two" };
    const char              *given = getenv("HF_ZK_SEED"), *steps = getenv("HF_ZK_STEPS");
    char                    *folder = turns_folder();

    (void)state;
    seed = given != NULL ? strtoull(given, NULL, 0) : hf_random();
    print_message("# HF_ZK_SEED=%llu\n", (unsigned long long)seed);
    assert_non_null(folder);
    start_all(folder);
    for (long left = steps != NULL ? atol(steps) : STEPS; left > 0; left--)
        one_step();
    nobody_waits_for_ever();
    print_message("# %u grants, %u answers, %u faults\n", grants, answers, faults);
    for (int i = 0; i < SEATS; i++)
        turns_close(&seat[i].history);
    assert_true(turns_judge(folder));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        nothing_is_left(folders[i]);
    for (int i = 0; i < SESSIONS; i++) {
        assert_int_equal(player[i].lost, 0);
        player_close(&player[i]);
        zkproxy_stop(proxy[i]);
    }
    assert_int_equal(witness_await_watches(0), 0);
    assert_true(grants > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exclusion_holds_under_random_actions),
    };

    witness_server();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
