/* act.h - what keys do to a store: ask and break, with a short limit, and tell how it went. */
#ifndef ACT_H
#define ACT_H

#include "eye.h"
#include "top.h"

void act_ask(struct eye *eye, struct top *top);
void act_break(struct eye *eye, struct top *top);

#endif
