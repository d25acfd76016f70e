/* list.c - list: every lock in use, a line for each. */
#include "cli_options.h"

#include "complain.h"
#include "entry.h"
#include "session.h"
#include "table.h"
#include "text.h"

#include <fnmatch.h>
#include <unistd.h>

static bool matches(const struct args *args, const char *name)
{
    const char *pattern = args->operand[0];

    return pattern == NULL || fnmatch(pattern, name, 0) == 0;
}

static void add_row(struct table *table, const struct hf_entry *const *entry,
                    size_t count, struct leftovers_scan *look)
{
    char   address[ENTRY_TEXT_MAX] = "-", age[TEXT_AGE_MAX] = "-", waiting[24];
    char   holder[ENTRY_TEXT_MAX + 24] = "-", command[ENTRY_TEXT_MAX] = "-";
    size_t holders = 0;
    const struct hf_entry *first = entry[0];

    for (size_t i = 0; i < count; i++)
        holders += entry[i]->held;
    if (first->held) { /* the first of the line, if any */
        place_address(address, first);
        text_age(age, place_age(first));
        entry_command(command, first, look, 40);
        snprintf(holder, sizeof holder, holders > 1 ? "%s +%zu" : "%s", address,
                 holders - 1);
    }
    snprintf(waiting, sizeof waiting, "%zu", count - holders);
    table_row(table, (const char *[]){ first->name, first->kind, holder, age, waiting,
                                       command });
}

static void print_table(const struct args *args, const struct hf_report *report,
                        struct leftovers_scan *look)
{
    struct table table = { .columns = 6 };
    size_t       count;

    for (size_t i = 0; i < report->count; i += count) {
        count = entry_same_name(report, i);
        if (!matches(args, report->entry[i]->name))
            continue;
        if (table.rows == 0)
            table_row(&table, (const char *[]){ "NAME", "KIND", "HOLDER", "HELD",
                                                "WAITING", "COMMAND" });
        add_row(&table, &report->entry[i], count, look);
    }
    table_print(&table, stdout);
}

static void print_list_json(const struct args *args, const struct hf_report *report,
                            struct leftovers_scan *look)
{
    struct json json = { .out = stdout };
    size_t      count;

    json_open(&json, NULL, '[');
    for (size_t i = 0; i < report->count; i += count) {
        count = entry_same_name(report, i);
        if (matches(args, report->entry[i]->name))
            entry_json_lock(&json, report->entry[i]->name, &report->entry[i], count,
                            look);
    }
    json_close(&json, ']');
    putchar('\n');
}

/* The user sees which store it is, and may have meant another one. */
static void print_store(struct hf_client *client, bool any)
{
    char store[1024];

    text_clean(store, sizeof store, hf_where(client));
    printf("%s%s\n", any ? "" : "no lock is in use in ", store);
}

static int print_list(const struct args *args, struct hf_client *client,
                      const struct hf_report *report)
{
    struct leftovers_scan look = { 0 };

    if (!args->json && isatty(STDOUT_FILENO))
        print_store(client, report->count > 0);
    if (args->json)
        print_list_json(args, report, &look);
    else
        print_table(args, report, &look);
    leftovers_forget(&look);
    return 0;
}

int list_main(const struct args *args)
{
    return session_look(args, NULL, print_list);
}
