/* versions.h - which versions of Holdfast are in line, for hf_doctor(). */
#ifndef HF_VERSIONS_H
#define HF_VERSIONS_H

#include "store/findings.h"

/* Add what the places of `report` tell of it. */
void hf_versions_tell(const struct hf_report *report, struct hf_finding_list *list);

#endif
