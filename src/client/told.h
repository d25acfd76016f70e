/* told.h - lines as they were told last, to see which look different now. */
#ifndef HF_CLIENT_TOLD_H
#define HF_CLIENT_TOLD_H

#include "core/line.h"
#include "holdfast.h"

#define HF_TOLD_BUCKETS 1024

struct hf_told {
    struct hf_told_line *lines[HF_TOLD_BUCKETS];
    uint64_t             look; /* listings of all lines so far */

    /* The report becomes the one's who is told, unless this fails. */
    int (*tell)(const char *name, struct hf_report *report, void *data);
    void *data;
};

void hf_told_init(struct hf_told *told,
                  int (*tell)(const char *name, struct hf_report *report, void *data),
                  void *data);
void hf_told_finish(struct hf_told *told);

/* Tell of one line, if it looks different.  The report becomes ours. */
int hf_told_line(struct hf_told *told, const char *name, struct hf_report *report);

/* The same for all lines there are, sorted by name: the others are empty. */
int hf_told_all(struct hf_told *told, const struct hf_line *all, uint64_t stamp);

#endif
