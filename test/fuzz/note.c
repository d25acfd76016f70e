/* note.c - anything as the note of a place, and as the texts that a note is made of. */
#include "client/look/note.h"
#include "base/name.h"
#include "fuzz/fuzz.h"
#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 400 /* bytes of each text, at most */

static char *copy(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);

    assert(text != NULL);
    memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

/* Nothing of a note is longer than the note, whoever wrote it. */
static void check_decode(const char *text)
{
    struct hf_note note;
    size_t         size = strlen(text);

    assert(hf_note_decode(text, &note) == 0);
    assert(strlen(note.user) <= size && strlen(note.host) <= size);
    assert(strlen(note.command) <= size && strlen(note.note) <= size);
    assert(strlen(note.version) <= size);
    if (strncmp(text, "user=", 5) != 0 && strchr(text, '=') == NULL && size > 0 &&
        text[strspn(text, " ")] != '\0')
        assert(strcmp(note.note, text) == 0); /* not ours: all of it is shown */
    hf_note_finish(&note);
    assert(note.user == NULL && note.note == NULL);
}

/* A whole text, or the beginning of it up to a character. */
static void check_kept(const char *kept, const char *text)
{
    size_t length = strlen(kept);

    assert(length <= KEPT && strncmp(kept, text, length) == 0);
    assert(text[length] == '\0' || length > KEPT - 4);
}

static void check_encode(const char *command, const char *text)
{
    struct hf_note note;
    char          *line = hf_note_encode(command, text);

    assert(line != NULL);
    for (const char *at = line; *at != '\0'; at++)
        assert((unsigned char)*at >= 0x20 && *at != 0x7f); /* one line */
    assert(hf_note_decode(line, &note) == 0);
    check_kept(note.command, command);
    check_kept(note.note, text);
    assert(note.pid > 0 && strcmp(note.version, hf_version()) == 0);
    hf_note_finish(&note);
    free(line);
}

/* The first half is also a command, the second half a text. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = copy(bytes, size), *command = copy(bytes, size / 2);

    check_decode(text);
    check_encode(command, text + size / 2);
    free(command);
    free(text);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_main(argc, argv, __FILE__);
}
#endif
