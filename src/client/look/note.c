/* note.c - see note.h. */
#include "client/look/note.h"

#include "base/name.h"
#include "holdfast.h"

#include <assert.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 400 /* bytes of a value before encoding */

/* How many bytes of `text` to keep: whole characters only. */
static size_t length_to_keep(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0') {
        size_t step = hf_utf8_length(text + length);
        if (step == 0)
            step = 1;
        if (length + step > TEXT_MAX)
            break;
        length += step;
    }
    assert(length <= TEXT_MAX);
    return length;
}

static void put_field(FILE *out, const char *key, const char *value)
{
    size_t length = length_to_keep(value);

    if (length == 0)
        return;
    fprintf(out, "%s%s=", ftell(out) > 0 ? " " : "", key);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        if (c <= 0x20 || c == 0x7f || c == '%')
            fprintf(out, "%%%02x", c);
        else
            fputc(c, out);
    }
}

static void user_name(char *ret, size_t size)
{
    struct passwd entry, *found = NULL;
    char          buffer[4096];

    getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found);
    if (found != NULL)
        snprintf(ret, size, "%s", found->pw_name);
    else
        snprintf(ret, size, "%ld", (long)geteuid());
}

char *hf_note_encode(const char *command, const char *note)
{
    char   user[256], host[HOST_NAME_MAX + 1] = "", pid[24];
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;

    user_name(user, sizeof user);
    gethostname(host, sizeof host - 1);
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    put_field(out, "user", user);
    put_field(out, "host", host);
    put_field(out, "pid", pid);
    put_field(out, "holdfast", hf_version());
    put_field(out, "command", command != NULL ? command : "");
    put_field(out, "note", note != NULL ? note : "");
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

void hf_note_by(char *ret, size_t size)
{
    char user[256], host[HOST_NAME_MAX + 1] = "";

    user_name(user, sizeof user);
    gethostname(host, sizeof host - 1);
    snprintf(ret, size, "by %s@%s:%ld", user, host, (long)getpid());
}

static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0';) {
        unsigned code;
        assert(to <= from); /* it only gets shorter */
        if (*from == '%' && sscanf(from + 1, "%2x", &code) == 1 && code != 0 &&
            from[2] != '\0') {
            *to++ = (char)code;
            from += 3;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

/* One "key=value" word.  False if Holdfast did not write it. */
static bool take_field(struct hf_note *note, char *word)
{
    char *value = strchr(word, '=');
    if (value == NULL)
        return false;
    *value++ = '\0';
    unescape(value);

    char **field = NULL;
    if (strcmp(word, "pid") == 0) {
        note->pid = strtoll(value, NULL, 10);
        return true;
    }
    if (strcmp(word, "user") == 0)
        field = &note->user;
    else if (strcmp(word, "host") == 0)
        field = &note->host;
    else if (strcmp(word, "holdfast") == 0)
        field = &note->version;
    else if (strcmp(word, "command") == 0)
        field = &note->command;
    else if (strcmp(word, "note") == 0)
        field = &note->note;
    if (field == NULL)
        return note->user != NULL; /* a note of Holdfast begins with the user */
    if (*field != NULL)
        return true;
    *field = strdup(value);
    return *field != NULL;
}

static bool parse_note(struct hf_note *note, char *text)
{
    char *rest;

    for (char *word = strtok_r(text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest))
        if (!take_field(note, word))
            return false;
    return true;
}

static bool fill_in(char **field)
{
    if (*field == NULL)
        *field = strdup("");
    return *field != NULL;
}

int hf_note_decode(const char *text, struct hf_note *ret)
{
    struct hf_note note = { 0 };
    char          *copy = strdup(text);
    if (copy == NULL)
        return HF_ENOMEM;

    if (!parse_note(&note, copy)) {
        hf_note_finish(&note);
        note.note = strdup(text);
    }
    free(copy);
    if (!fill_in(&note.user) || !fill_in(&note.host) || !fill_in(&note.command) ||
        !fill_in(&note.note) || !fill_in(&note.version)) {
        hf_note_finish(&note);
        return HF_ENOMEM;
    }
    *ret = note;
    return 0;
}

void hf_note_finish(struct hf_note *note)
{
    free(note->user);
    free(note->host);
    free(note->command);
    free(note->note);
    free(note->version);
    *note = (struct hf_note){ 0 };
}
