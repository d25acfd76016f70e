# src/core/hold.c: a job that is canceled before its ENTER is answered leaves a place behind
/^static void on_drop/,/^}/ s/if (hold->state == HF_HOLD_OUTSIDE)/if (hold->state == HF_HOLD_OUTSIDE || hold->state == HF_HOLD_ENTERING)/
