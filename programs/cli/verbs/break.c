/* break.c - break: take a place away from its owner. */
#include "cli_options.h"

#include "complain.h"
#include "entry.h"
#include "place.h"
#include "session.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>

static int say_nothing(const struct args *args)
{
    if (args->token != 0)
        complain("\"%s\" has no place with token %" PRIu64 " (any more)",
                 args->operand[0], args->token);
    else
        complain("nobody holds \"%s\": there is nothing to break", args->operand[0]);
    return EXIT_NOTHING;
}

/* The place to break.  0, or an exit code after having said why not. */
static int choose_place(const struct args *args, const struct hf_report *report,
                        const struct hf_entry **ret)
{
    const struct hf_entry *chosen = NULL;
    size_t                 holders = 0;

    for (size_t i = 0; i < report->count; i++) {
        const struct hf_entry *entry = report->entry[i];
        holders += entry->held;
        if (args->token != 0 ? entry->token == args->token
                             : entry->held && chosen == NULL)
            chosen = entry;
    }
    if (chosen == NULL)
        return say_nothing(args);
    if (args->token == 0 && holders > 1) {
        complain(
            "\"%s\" has %zu holders: name one by --token, as `holdfast show %s` lists "
            "them",
            args->operand[0], holders, args->operand[0]);
        return EXIT_USAGE;
    }
    *ret = chosen;
    return 0;
}

static void show_places(const struct hf_entry *entry)
{
    char owner[ENTRY_TEXT_MAX], age[TEXT_AGE_MAX];

    complain("\"%s\" %s by %s for %s, token %" PRIu64 "%s%s", entry->name,
             entry->held ? "is held" : "is waited for", entry_owner(owner, entry, NULL),
             text_age(age, place_age(entry)), entry->token,
             *entry->note ? ", note: " : "", entry->note);
    if (place_is_stopped(entry))
        complain("pid %" PRId64 " is stopped: its command may go on running; after "
                 "`kill -CONT %" PRId64 "` it ends its command",
                 entry->pid, entry->pid);
}

/* 0, or an exit code: no. */
static int confirm(const struct args *args)
{
    char answer[16] = "";

    if (args->yes)
        return 0;
    if (!isatty(STDIN_FILENO)) {
        complain(
            "break asks for confirmation, and stdin is no terminal; add --yes if you are "
            "sure");
        return EXIT_USAGE;
    }
    fprintf(stderr, "holdfast: break it? [y/N] ");
    if (fgets(answer, sizeof answer, stdin) != NULL && (*answer == 'y' || *answer == 'Y'))
        return 0;
    complain("nothing was changed");
    return EXIT_NOTHING;
}

static int break_it(const struct args *args, struct hf_client *client,
                    const struct hf_report *report)
{
    const struct hf_entry *entry;

    int code = choose_place(args, report, &entry);
    if (code != 0)
        return code;
    show_places(entry);
    code = confirm(args);
    if (code != 0)
        return code;

    int r = hf_break(client, entry->name, entry->token, SESSION_PATIENCE_MS);
    if (r == HF_ENOTFOUND) {
        complain("it was released meanwhile; nothing was broken");
        return EXIT_NOTHING;
    }
    if (r < 0)
        return complain_failure(client, r);
    complain("broken");
    return 0;
}

int break_main(const struct args *args)
{
    return session_look(args, args->operand[0], break_it);
}
