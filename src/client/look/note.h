/* note.h - the owner of a place, as one line of text that people can read.
 *
 *     user=ana host=db1 pid=4242 holdfast=0.1.0 command=./backup.sh%20-v note=nightly
 *
 * Blanks, control characters and '%' are written as %XX.  Stores keep the text
 * unchanged, so that any other tool can read it there.
 */
#ifndef HF_NOTE_H
#define HF_NOTE_H

#include <stddef.h>
#include <stdint.h>

/* Strings belong to the note; "" or 0 when unknown. */
struct hf_note {
    char   *user;
    char   *host;
    char   *command;
    char   *note;
    char   *version; /* of the Holdfast that wrote it */
    int64_t pid;
};

/* The text for this process, allocated; NULL when out of memory.  `command` and
 * `note` may be NULL and are cut to a length that suits every store. */
char *hf_note_encode(const char *command, const char *note);

/* "by ana@db1:4242": this process. */
void hf_note_by(char *ret, size_t size);

/* Parse a text.  If Holdfast did not write it, all of it becomes `note`.  Fields that a
 * later version added are left out. */
int  hf_note_decode(const char *text, struct hf_note *ret);
void hf_note_finish(struct hf_note *note);

#endif
