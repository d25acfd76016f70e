/* show.c - show: one lock, its holders and its queue. */
#include "cli_options.h"

#include "complain.h"
#include "entry.h"
#include "session.h"
#include "table.h"
#include "text.h"

#include <inttypes.h>

static void add_row(struct table *table, const struct hf_entry *entry,
                    struct leftovers_scan *look)
{
    char address[ENTRY_TEXT_MAX], age[TEXT_AGE_MAX], token[24], command[ENTRY_TEXT_MAX],
        what[64];

    snprintf(token, sizeof token, "%" PRIu64, entry->token);
    entry_command(command, entry, look, 60);
    if (entry->slot >= 0)
        snprintf(what, sizeof what, "%s %d", entry->held ? "slot" : "waits", entry->slot);
    else
        snprintf(what, sizeof what, "%s", entry->held ? "holds" : "waits");
    table_row(table, (const char *[]){ what, entry->kind, place_address(address, entry),
                                       text_age(age, place_age(entry)), token, command,
                                       entry->note });
}

static void print_table(const struct hf_report *report, struct leftovers_scan *look)
{
    struct table table = { .columns = 7 };

    table_row(&table, (const char *[]){ "STATE", "KIND", "WHO", "AGE", "TOKEN", "COMMAND",
                                        "NOTE" });
    for (size_t i = 0; i < report->count; i++)
        add_row(&table, report->entry[i], look);
    table_print(&table, stdout);
}

static int print_places(const struct args *args, struct hf_client *client,
                        const struct hf_report *report)
{
    const char           *name = args->operand[0];
    struct leftovers_scan look = { 0 };

    (void)client;
    if (args->json) {
        struct json json = { .out = stdout };
        entry_json_lock(&json, name, report->entry, report->count, &look);
        putchar('\n');
    } else if (report->count > 0) {
        print_table(report, &look);
    } else {
        complain("nobody holds \"%s\"", name);
    }
    leftovers_forget(&look);
    return report->count > 0 ? 0 : EXIT_NOTHING;
}

int show_main(const struct args *args)
{
    return session_look(args, args->operand[0], print_places);
}
