# src/core/hold.c: a wait that timed out leaves its place behind
/^static void on_drop/,/^}/ s/start_leaving(hold, why);/why == HF_ETIMEOUT ? come_to_rest(hold, HF_HOLD_IDLE, why) : start_leaving(hold, why);/
