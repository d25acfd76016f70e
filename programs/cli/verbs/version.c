/* version.c - version: what this is and what it was built with. */
#include "cli_options.h"

#include "json.h"

#include <holdfast.h>

#include <stdio.h>
#include <string.h>

static void print_stores(struct json *json)
{
    char        store[32];
    const char *s = hf_stores();

    json_open(json, "stores", '[');
    while (*s != '\0') {
        size_t length = strcspn(s, " ");
        snprintf(store, sizeof store, "%.*s", (int)length, s);
        json_string(json, NULL, store);
        s += length;
        s += strspn(s, " ");
    }
    json_close(json, ']');
}

int version_main(const struct args *args)
{
    struct json json = { .out = stdout };

    if (!args->json) {
        printf("holdfast %s\nstores: %s\n", hf_version(), hf_stores());
        return 0;
    }
    json_open(&json, NULL, '{');
    json_string(&json, "version", hf_version());
    print_stores(&json);
    json_close(&json, '}');
    putchar('\n');
    return 0;
}
