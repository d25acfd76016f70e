/* examine.c - EXAMINE: what a person should know.  Each server is called in its own way. */
#include "store/served/served.h"

void hf_served_findings(struct hf_served_task *task, struct hf_finding_list *list)
{
    if (list->failed) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    } else {
        task->base.req->finding = list->finding;
        task->base.req->findings = list->count;
        hf_task_finish(&task->base, 0);
    }
    hf_finding_list_clear(list);
}
