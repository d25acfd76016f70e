/* names.c - the names of lines that a client with a survey has been shown; see survey.h. */
#include "store/sqlite/inner.h"

#include <stdlib.h>
#include <string.h>

static struct hf_sq_name **list_of(struct hf_sq_survey *survey, uint64_t hash)
{
    return &survey->names[hash % HF_SQ_NAME_LISTS];
}

struct hf_sq_name *hf_sq_name_find(struct hf_sq_survey *survey, uint64_t hash)
{
    struct hf_sq_name *name = *list_of(survey, hash);

    while (name != NULL && name->hash != hash)
        name = name->next;
    return name;
}

struct hf_sq_name *hf_sq_name_add(struct hf_sq_survey *survey, const char *text,
                                  uint64_t hash)
{
    size_t              size = strlen(text) + 1;
    struct hf_sq_name **list = list_of(survey, hash);
    struct hf_sq_name  *name = calloc(1, sizeof *name + size);

    if (name == NULL) {
        survey->unknown = true;
        return NULL;
    }
    memcpy(name->text, text, size);
    name->hash = hash;
    name->next = *list;
    *list = name;
    return name;
}

void hf_sq_names_free_gone(struct hf_sq_survey *survey)
{
    while (survey->gone != NULL) {
        struct hf_sq_name *name = survey->gone;
        survey->gone = name->also;
        free(name);
    }
}

/* The line is no more.  Its name is lent out for a while. */
void hf_sq_name_drop(struct hf_sq_survey *survey, struct hf_sq_name *name)
{
    struct hf_sq_name **at = list_of(survey, name->hash);

    while (*at != name)
        at = &(*at)->next;
    *at = name->next;
    name->also = survey->gone;
    survey->gone = name;
}

void hf_sq_names_forget(struct hf_sq_survey *survey)
{
    for (size_t i = 0; i < HF_SQ_NAME_LISTS; i++)
        while (survey->names[i] != NULL) {
            struct hf_sq_name *name = survey->names[i];
            survey->names[i] = name->next;
            free(name);
        }
    hf_sq_names_free_gone(survey);
    survey->changed = NULL;
    survey->changes = survey->news = 0;
    survey->unknown = false;
}

void hf_sq_name_changed(struct hf_sq_survey *survey, struct hf_sq_name *name)
{
    if (name == NULL || name->is_changed)
        return;
    name->is_changed = true;
    name->also = survey->changed;
    survey->changed = name;
    survey->changes++;
}

void hf_sq_name_new(struct hf_sq_survey *survey, uint64_t hash)
{
    for (size_t i = 0; i < survey->news; i++)
        if (survey->new[i] == hash)
            return;
    if (survey->news == HF_SQ_NEW_MAX)
        survey->unknown = true;
    else
        survey->new[survey->news++] = hash;
}

void hf_sq_survey_learn(struct hf_sq *sq, const char *line)
{
    if (!sq->survey.on)
        return;
    uint64_t hash = hf_sq_line_hash(line);
    if (hf_sq_name_find(&sq->survey, hash) == NULL)
        (void)hf_sq_name_add(&sq->survey, line, hash);
}
