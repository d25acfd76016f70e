# src/core/hold.c: a wish dropped before its ticket is known leaves that ticket behind
s/bool outside = hold->state == HF_HOLD_WAITING && hold->seq == 0;/bool outside = hold->seq == 0;/
