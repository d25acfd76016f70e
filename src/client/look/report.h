/* report.h - answers of the store, copied for the user: queues and their history. */
#ifndef HF_REPORT_H
#define HF_REPORT_H

#include "core/line.h"
#include "holdfast.h"
#include "store/findings.h"
#include "store/store.h"

/* Copy `line`, which may have the places of several locks, sorted by name and then by
 * seq.  The rule of core/line.h decides here which places hold. */
int hf_report_new(const struct hf_line *line, uint64_t stamp, struct hf_report **ret);

/* One more owner of the same report: it needs one more hf_report_free(). */
struct hf_report *hf_report_share(struct hf_report *report);

/* When the store took the snapshot; see struct hf_req. */
uint64_t hf_report_stamp(const struct hf_report *report);

/* A place that waited in `before` and is held in `report` was granted at `now` (us since
 * 1970), unless the store says when.  Later reports keep that time. */
void hf_report_date(struct hf_report *report, const struct hf_report *before,
                    int64_t now);

/* Do both have the same holders and waiters? */
bool hf_report_same(const struct hf_report *a, const struct hf_report *b);

/* Copy the answer to HISTORY. */
int hf_history_report_new(const struct hf_req *req, struct hf_history_report **ret);

/* For hf_doctor(): add a finding about the versions of Holdfast that hold or wait. */
void hf_versions_find(const struct hf_report *report, struct hf_finding_list *list);

#endif
