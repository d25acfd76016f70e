# src/store/sqlite/line/sweep.c: dead waiters count for --max-waiters
# caught by: sqlite/death
/^int hf_sq_is_full/,/^}/ s/r = sweep_line(sq, line);/r = 0;/
