/* report.h - a snapshot of lines, copied out for the user. */
#ifndef HF_REPORT_H
#define HF_REPORT_H

#include "core/line.h"
#include "holdfast.h"

/* Copy `line`, which may hold the tickets of several locks, sorted by name and
 * then by seq.  Who holds and who waits is judged here, by the one rule. */
int hf_report_new(const struct hf_line *line, uint64_t stamp, struct hf_report **ret);

/* One more owner of the same report: it needs one more hf_report_free(). */
struct hf_report *hf_report_share(struct hf_report *report);

/* When the store took the snapshot; see struct hf_req. */
uint64_t hf_report_stamp(const struct hf_report *report);

/* What waited in `before` and is held in `report` is held since `now` (us since 1970), if
 * the store does not say so itself; and stays so. */
void hf_report_date(struct hf_report *report, const struct hf_report *before,
                    int64_t now);

/* Are the same places held and waited for? */
bool hf_report_same(const struct hf_report *a, const struct hf_report *b);

#endif
