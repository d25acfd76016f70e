# src/core/hold.c: a wait that timed out is over, and its ticket forgotten
/^static void on_drop/,/^}/ s/leave(hold, why);/why == HF_ETIMEOUT ? rest(hold, HF_HOLD_IDLE, why) : leave(hold, why);/
