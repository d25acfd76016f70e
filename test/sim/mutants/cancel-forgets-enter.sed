# src/core/hold.c: a wish dropped before its ticket is known leaves that ticket behind
/^static void on_drop/,/^}/ s/if (hold->state == HF_HOLD_OUTSIDE)/if (hold->state == HF_HOLD_OUTSIDE || hold->state == HF_HOLD_ENTERING)/
