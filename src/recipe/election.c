/* election.c - a mutex that is always wanted, and a watch on its queue.
 *
 *     OUT --join--> QUEUED --held--> LEADS --lost--> QUEUED, or OUT (once)
 *      ^              |                 |
 *      +---resign-----+-----resign------+
 *
 * Everything happens in callbacks, which run one at a time, so there are no races: even
 * hf_election_resign() only queues a callback.  `deposed` is called before the lock is
 * released.
 */
#include "client/callback.h"
#include "client/handle/lock.h"
#include "client/look/watch.h"

#include <stdlib.h>

struct hf_election {
    struct hf_client          *client;
    struct hf_lock            *lock;
    struct hf_lock_watch      *watch;
    struct hf_election_options options;
    atomic_bool                leads;
    atomic_bool                takes_part; /* or wants to */
    atomic_bool                resigns;    /* until a callback has deposed it */
    uint64_t leader;   /* token of the last `leader` callback; callbacks only */
    bool     reported; /* `leader` was called before */
};

static void depose(struct hf_election *election, int why)
{
    if (!atomic_exchange(&election->leads, false))
        return;
    if (election->options.once)
        election->takes_part = false;
    if (election->options.deposed != NULL)
        election->options.deposed(election, why, election->options.data);
}

static void on_held(struct hf_election *election)
{
    if (!election->takes_part) { /* resigned just before */
        (void)hf_release_start(election->lock);
        return;
    }
    uint64_t token = hf_token(election->lock);
    if (token == 0) /* lost already: the next callback handles it */
        return;
    election->leads = true;
    if (election->options.elected != NULL)
        election->options.elected(election, token, election->options.data);
}

/* HF_ESTATE: it is still leaving, and on_idle() will queue again; or another thread has
 * already queued. */
static int join_queue(struct hf_election *election)
{
    int r = hf_acquire_start(election->lock, -1);

    if (r == 0 || r == HF_ESTATE)
        return 0;
    election->takes_part = false; /* no memory; join() may try again */
    return r;
}

/* Queue again, unless the store would refuse again: then call `deposed`, and let the
 * user decide whether to join again. */
static void on_idle(struct hf_election *election, int why)
{
    bool refused = why < 0 && why != HF_ELOST && why != HF_ECANCELED;

    if (!election->takes_part)
        return;
    if (!refused)
        why = join_queue(election);
    if (why == 0)
        return;
    election->takes_part = false;
    if (election->options.deposed != NULL)
        election->options.deposed(election, why, election->options.data);
}

/* Even if the user has joined again meanwhile: then the candidate queues at the end. */
static void step_down(struct hf_election *election)
{
    if (!election->resigns)
        return;
    if (election->leads) {
        depose(election, 0);
        (void)hf_release_start(election->lock);
    } else if (!election->takes_part) {
        (void)hf_cancel(election->lock); /* it may be about to queue again */
    }
    election->resigns = false; /* last: hf_election_leads() looks at both */
}

/* The lock has changed. */
static void on_state(struct hf_lock *lock, enum hf_state state, int why)
{
    struct hf_election *election = lock->member.of;

    switch (state) {
    case HF_HELD:
        on_held(election);
        break;
    case HF_LOST:
        depose(election, why);
        (void)hf_release_start(lock);
        break;
    case HF_LEAVING: /* or queued by hf_election_resign() */
        step_down(election);
        break;
    case HF_IDLE:
        on_idle(election, why);
        break;
    case HF_WAITING:
        break;
    }
}

/* The queue has changed. */
static void on_report(struct hf_lock_watch *watch, const struct hf_report *report)
{
    struct hf_election    *election = watch->data;
    const struct hf_entry *leader = NULL;

    for (size_t i = 0; i < report->count && leader == NULL; i++)
        if (report->entry[i]->held)
            leader = report->entry[i];

    uint64_t token = leader != NULL ? leader->token : 0;
    if (election->reported && token == election->leader)
        return;
    election->reported = true;
    election->leader = token;
    election->options.leader(election, leader, election->options.data);
}

static int start_election(struct hf_election *election)
{
    const struct hf_election_options *options = &election->options;
    struct hf_lock                   *lock = election->lock;

    int r = options->note != NULL ? hf_set_note(lock, options->note) : 0;
    if (r < 0)
        return r;
    if (options->leader != NULL) {
        int cancel = hf_drive_begin(&election->client->drive);
        r = hf_lock_watch_start(election->client, lock->name, on_report, election,
                                &election->watch);
        hf_drive_end(&election->client->drive, cancel);
    }
    if (r < 0)
        return r;
    lock->member = (struct hf_member){ .of = election, .hook = on_state };
    return options->observe ? 0 : hf_election_join(election);
}

static int read_options(struct hf_client *client, const struct hf_election_options *given,
                        struct hf_election_options *ret)
{
    char errmsg[HF_ERRMSG_MAX];

    int r = hf_options_copy(given, sizeof *ret, "HF_ELECTION_INIT", ret, errmsg);
    if (r < 0) {
        int cancel = hf_drive_begin(&client->drive);
        hf_client_fail(client, r, "%s", errmsg);
        hf_drive_end(&client->drive, cancel);
    }
    return r;
}

int hf_election_new(struct hf_client *client, const char *name,
                    const struct hf_election_options *given, struct hf_election **ret)
{
    struct hf_election_options options = HF_ELECTION_INIT;

    int r = ret != NULL ? hf_client_check(client) : HF_EINVAL;
    if (r == 0 && given != NULL)
        r = read_options(client, given, &options);
    if (r < 0)
        return r;
    struct hf_election *election = calloc(1, sizeof *election);
    if (election == NULL)
        return HF_ENOMEM;
    election->client = client;
    election->options = options;

    r = hf_mutex(client, name, &election->lock);
    if (r < 0)
        goto fail;
    r = start_election(election);
    if (r < 0)
        goto fail;
    election->options.note = NULL; /* lent for this call */
    *ret = election;
    return 0;
fail:
    hf_election_free(election);
    return r;
}

void hf_election_free(struct hf_election *election)
{
    if (election == NULL)
        return;
    if (election->lock != NULL && hf_client_check(election->client) < 0)
        return;
    if (election->watch != NULL) {
        int cancel = hf_drive_begin(&election->client->drive);
        hf_callbacks_settle(election->client, election->watch);
        hf_lock_watch_stop(election->watch);
        hf_drive_end(&election->client->drive, cancel);
    }
    hf_lock_free(election->lock);
    free(election);
}

bool hf_election_leads(const struct hf_election *election)
{
    return election != NULL && election->leads && !election->resigns &&
           hf_left_ms(election->lock) > 0;
}

struct hf_lock *hf_election_lock(struct hf_election *election)
{
    return election != NULL ? election->lock : NULL;
}

int hf_election_resign(struct hf_election *election)
{
    int r = election != NULL ? hf_client_check(election->client) : HF_EINVAL;
    if (r < 0)
        return r;
    struct hf_lock *lock = election->lock;
    election->takes_part = false;
    election->resigns = true;
    int cancel = hf_drive_begin(&election->client->drive);
    hf_callback_state(lock, HF_LEAVING, 0); /* runs step_down(), see on_state() */
    hf_drive_announce(&election->client->drive);
    hf_drive_end(&election->client->drive, cancel);
    return hf_cancel(lock);
}

int hf_election_join(struct hf_election *election)
{
    int r = election != NULL ? hf_client_check(election->client) : HF_EINVAL;
    if (r < 0)
        return r;
    if (atomic_exchange(&election->takes_part, true))
        return 0;
    return join_queue(election);
}

int hf_election_list(struct hf_election *election, int64_t timeout_ms,
                     struct hf_report **ret)
{
    if (election == NULL)
        return HF_EINVAL;
    return hf_inspect(election->client, hf_name(election->lock), timeout_ms, ret);
}
