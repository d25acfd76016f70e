/* act.h - asks for a lock or breaks one, with a short timeout, and shows the result. */
#ifndef ACT_H
#define ACT_H

#include "monitor.h"
#include "top.h"

void act_ask(struct monitor *monitor, struct top *top);
void act_break(struct monitor *monitor, struct top *top);

#endif
