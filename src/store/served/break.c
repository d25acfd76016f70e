/* break.c - BREAK: take anybody's place away. */
#include "store/served/served.h"

void hf_served_break(struct hf_served_task *task)
{
    if (hf_served_begin_other(task))
        hf_served_send(task, hf_served_found);
}
