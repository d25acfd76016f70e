# src/core/hold.c: a wait that timed out is over, and its ticket forgotten
/^static void on_drop/,/^}/ s/start_leaving(hold, why);/why == HF_ETIMEOUT ? come_to_rest(hold, HF_HOLD_IDLE, why) : start_leaving(hold, why);/
