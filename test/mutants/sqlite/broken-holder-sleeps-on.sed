# src/store/sqlite/watch.c: a process breaks a place and is killed before it wakes anybody, and nobody else does
# caught by: sqlite/death
/^static bool was_taken_away/,/^}/ s/^    if (is_of_whole_line(watch) ||/    if (watch != NULL || is_of_whole_line(watch) ||/
