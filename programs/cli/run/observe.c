/* observe.c - elect --observe: prints the leader, a line for each change. */
#include "cli_options.h"

#include "clock.h"
#include "complain.h"
#include "entry.h"
#include "run/messages.h"
#include "session.h"
#include "text.h"

#include <inttypes.h>
#include <poll.h>

struct observer {
    const struct args *args;
    bool               unread; /* nobody reads it any more */
};

static void print_leader_json(const struct args *args, const struct hf_entry *leader)
{
    struct json json = { .out = stdout };
    char        time[TEXT_TIME_MAX];

    json_open(&json, NULL, '{');
    json_string(&json, "time", text_time(time, clock_wall_us()));
    json_string(&json, "name", args->operand[0]);
    if (leader != NULL) {
        json_open(&json, "leader", '{');
        entry_json(&json, leader, NULL);
        json_close(&json, '}');
    } else {
        json_null(&json, "leader");
    }
    json_close(&json, '}');
    putchar('\n');
}

static void print_text(const struct hf_entry *leader)
{
    char address[ENTRY_TEXT_MAX], since[TEXT_TIME_MAX], note[1024];

    if (leader == NULL) {
        puts("no leader");
        return;
    }
    text_clean(note, sizeof note, leader->note);
    printf("leader: %s since %s token %" PRIu64 "%s%s\n", place_address(address, leader),
           text_time(since, leader->since), leader->token, *note ? " note " : "", note);
}

static void on_leader(struct hf_election *election, const struct hf_entry *leader,
                      void *data)
{
    struct observer *observer = data;

    (void)election;
    if (observer->args->json)
        print_leader_json(observer->args, leader);
    else
        print_text(leader);
    observer->unread = fflush(stdout) != 0;
}

int observe_main(const struct args *args)
{
    struct observer            observer = { .args = args };
    struct hf_election_options options = HF_ELECTION_INIT;
    struct hf_client          *client;
    struct hf_election        *election;

    int code = session_open(args, &client);
    if (code != 0)
        return code;
    options.observe = true;
    options.leader = on_leader;
    options.data = &observer;
    int r = hf_election_new(client, args->operand[0], &options, &election);
    if (r < 0) {
        code = complain_failure(client, r);
        hf_close(client);
        return code;
    }
    while (!observer.unread) {
        struct pollfd on = { .fd = hf_fd(client), .events = POLLIN };
        poll(&on, 1, clock_sooner(hf_timeout_ms(client), store_message_timeout_ms()));
        hf_process(client);
        store_message_show(NULL);
    }
    hf_election_free(election);
    hf_close(client);
    return code;
}
