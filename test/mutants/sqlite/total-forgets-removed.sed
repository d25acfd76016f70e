# src/store/sqlite/line/place.c: the running total still counts a place that was removed
# caught by: sqlite/running_total
/^int hf_sq_place_remove/,/^}/ s/change_total(sq, -1, /change_total(sq, 0, /
