# src/store/sqlite/line/grant.c: a release grants the lock to a dead waiter
# caught by: sqlite/death
/^static int remove_dead/,/^}/ s/hf_sq_is_alive(sq, row->seq)/hf_sq_seq_is_valid(row->seq)/
