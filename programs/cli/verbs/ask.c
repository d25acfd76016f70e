/* ask.c - ask: ask the holder of a lock to give it up. */
#include "cli_options.h"

#include "complain.h"
#include "session.h"

static int ask_holders(const struct args *args, struct hf_client *client)
{
    const char *name = args->operand[0];
    int         r = hf_ask(client, name, args->reason, SESSION_PATIENCE_MS);

    if (r == HF_ENOTFOUND) {
        complain("nobody holds \"%s\": there is nobody to ask", name);
        return EXIT_NOTHING;
    }
    if (r < 0)
        return complain_failure(client, r);
    complain("asked %d holder%s of \"%s\"", r, r == 1 ? "" : "s", name);
    return 0;
}

int ask_main(const struct args *args)
{
    struct hf_client *client;

    int code = session_open(args, &client);
    if (code != 0)
        return code;
    code = ask_holders(args, client);
    hf_close(client);
    return code;
}
