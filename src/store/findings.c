/* findings.c - see findings.h. */
#include "store/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct hf_gathered *list)
{
    if (list->count < list->room)
        return true;

    size_t             room = list->room > 0 ? list->room * 2 : 16;
    struct hf_finding *grown = realloc(list->finding, room * sizeof *grown);
    if (grown == NULL)
        return false;
    list->finding = grown;
    list->room = room;
    return true;
}

static const char *put(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char  *start = memcpy(*at, text, size);

    *at += size;
    return start;
}

/* The three texts share one piece of memory, which `about` starts. */
static void add(struct hf_gathered *list, const struct hf_finding *finding)
{
    size_t size =
        strlen(finding->about) + strlen(finding->text) + strlen(finding->advice) + 3;
    char *at = make_room(list) ? malloc(size) : NULL;

    if (at == NULL) {
        list->failed = true;
        return;
    }
    struct hf_finding *kept = &list->finding[list->count++];
    kept->level = finding->level;
    kept->about = put(&at, finding->about);
    kept->text = put(&at, finding->text);
    kept->advice = put(&at, finding->advice);
}

void hf_gather(struct hf_gathered *list, enum hf_level level, const char *about,
               const char *advice, const char *format, ...)
{
    char    text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add(list, &(struct hf_finding){ .level = level,
                                    .about = about,
                                    .text = text,
                                    .advice = advice != NULL ? advice : "" });
}

void hf_gather_all(struct hf_gathered *list, const struct hf_finding *finding,
                   size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(list, &finding[i]);
}

void hf_gathered_clear(struct hf_gathered *list)
{
    for (size_t i = 0; i < list->count; i++)
        free((char *)list->finding[i].about);
    free(list->finding);
    *list = (struct hf_gathered){ 0 };
}
