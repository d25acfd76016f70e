# src/core/hold.c: after a lost session the lock is acquired again by itself
/^static void on_gone/,/^}/ s/lose(hold, true);/come_to_rest(hold, HF_HOLD_IDLE, 0), enter(hold);/
