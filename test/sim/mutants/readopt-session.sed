# src/core/hold.c: when the session is gone the lock is taken again by itself
/^static void on_gone/,/^}/ s/lose(hold, true);/come_to_rest(hold, HF_HOLD_IDLE, 0), enter(hold);/
