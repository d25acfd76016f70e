/* findings.c - see findings.h. */
#include "store/findings.h"

#include "base/grow.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *put_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char  *start = memcpy(*at, text, size);

    *at += size;
    return start;
}

/* The three texts share one allocation, which begins with `about`. */
static void keep_finding(struct hf_finding_list *list, const struct hf_finding *finding)
{
    size_t size =
        strlen(finding->about) + strlen(finding->text) + strlen(finding->advice) + 3;
    struct hf_finding *grown =
        hf_grow(list->finding, &list->room, list->count + 1, sizeof *grown);

    if (grown != NULL)
        list->finding = grown;
    char *start = grown != NULL ? malloc(size) : NULL, *at = start;
    if (start == NULL) {
        list->failed = true;
        return;
    }
    struct hf_finding *kept = &list->finding[list->count++];
    kept->level = finding->level;
    kept->about = put_text(&at, finding->about);
    kept->text = put_text(&at, finding->text);
    kept->advice = put_text(&at, finding->advice);
    assert(kept->about == start); /* what hf_finding_list_clear() frees */
    assert(at == start + size);
}

void hf_finding_add(struct hf_finding_list *list, enum hf_level level, const char *about,
                    const char *advice, const char *format, ...)
{
    char    text[1024];
    va_list args;

    assert(about[0] != '\0' && format[0] != '\0'); /* only advice may be missing */
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    keep_finding(list, &(struct hf_finding){ .level = level,
                                             .about = about,
                                             .text = text,
                                             .advice = advice != NULL ? advice : "" });
}

void hf_finding_add_all(struct hf_finding_list *list, const struct hf_finding *finding,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        keep_finding(list, &finding[i]);
}

void hf_finding_list_clear(struct hf_finding_list *list)
{
    assert(list->count <= list->room);
    for (size_t i = 0; i < list->count; i++)
        free((char *)list->finding[i].about);
    free(list->finding);
    *list = (struct hf_finding_list){ 0 };
}
