/* marks.h - what a survey keeps of lines, by their names.  No I/O. */
#ifndef HF_ZK_MARKS_H
#define HF_ZK_MARKS_H

#include <stdbool.h>
#include <stddef.h>

#define HF_ZK_MARK_BUCKETS 256

enum {
    HF_ZK_MARK_CHANGED = 1, /* since it was last told */
    HF_ZK_MARK_HIDDEN = 2,  /* there are places in it that we may not read */
    HF_ZK_MARK_DENIED = 4,  /* we may not even list it */
};

struct hf_zk_marks {
    struct hf_zk_mark *bucket[HF_ZK_MARK_BUCKETS];
    size_t             changed, hidden; /* how many are */
};

/* Set or take away one mark of a line.  False: there is no memory. */
bool hf_zk_mark(struct hf_zk_marks *marks, const char *name, unsigned mark, bool set);

bool hf_zk_is_marked(const struct hf_zk_marks *marks, const char *name, unsigned mark);

/* All that are HIDDEN are CHANGED, too. */
void hf_zk_marks_spread(struct hf_zk_marks *marks);

/* The names of those CHANGED, marks->changed of them, lent until their mark is taken away.
 * To be freed; NULL: no memory. */
const char **hf_zk_marks_changed(const struct hf_zk_marks *marks);

/* Take these marks away from all. */
void hf_zk_marks_clear(struct hf_zk_marks *marks, unsigned which);

#endif
