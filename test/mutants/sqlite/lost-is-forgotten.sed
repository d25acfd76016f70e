# src/store/sqlite/line/own.c: a second ENTER of a place that was lost takes a new one
# caught by: promise/s2_once on sqlite
/^bool hf_sq_owns_lost/,/^}/ s/if (owns->lost\[i\] == id)/if (owns->lost[i] == 0)/
