/* check.c - check: is the lock still held under which this runs? */
#include "cli_options.h"

#include "complain.h"
#include "session.h"
#include "store_url.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* The lock to check.  By default all three are those that `run` passed to its command. */
struct question {
    const char *name;
    uint64_t    token;
    const char *url; /* NULL: as for any verb */
};

static int take_handed_down(const struct args *args, struct question *question)
{
    const char *token = getenv("HOLDFAST_TOKEN");
    const char *url = url_handed_down();

    if (token == NULL || !text_parse_number(token, 1, UINT64_MAX, &question->token)) {
        complain("check: HOLDFAST_TOKEN is not the token of a lock; name one by --token");
        return EXIT_USAGE;
    }
    if (args->url != NULL || url == NULL)
        return 0;
    if (*url == '\0') {
        complain("check: there is a password in the URL of the store, which `run` does "
                 "not pass on; name it by --url-file");
        return EXIT_USAGE;
    }
    question->url = url;
    return 0;
}

static int choose_question(const struct args *args, struct question *question)
{
    const char *held = getenv("HOLDFAST_NAME");

    *question = (struct question){ .name = args->operand[0], .token = args->token };
    if (question->name == NULL)
        question->name = held;
    if (question->name == NULL) {
        complain("check: the NAME of the lock is missing, and this does not run under "
                 "`holdfast run`");
        return EXIT_USAGE;
    }
    if (args->token != 0)
        return 0;
    if (held == NULL || strcmp(held, question->name) != 0) {
        complain(
            "check: HOLDFAST_TOKEN belongs to another lock than \"%s\"; give its token "
            "with --token",
            question->name);
        return EXIT_USAGE;
    }
    return take_handed_down(args, question);
}

static int verify(const struct args *args, const struct question *question)
{
    int64_t           limit = args->wait_ms >= 0 ? args->wait_ms : SESSION_PATIENCE_MS;
    struct args       own = *args;
    struct hf_client *client;

    if (question->url != NULL)
        own.url = (char *)question->url;
    int code = session_open(&own, &client);
    if (code != 0)
        return code;
    int r = hf_verify(client, question->name, question->token, limit);
    if (r < 0)
        code = complain_failure(client, r);
    if (r == HF_ETIMEOUT)
        code = EXIT_UNAVAILABLE;
    hf_close(client);
    return code;
}

int check_main(const struct args *args)
{
    struct question question;

    int code = choose_question(args, &question);
    return code != 0 ? code : verify(args, &question);
}
