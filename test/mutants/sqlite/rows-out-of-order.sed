# src/store/sqlite/db/db_open.c: a damaged table, whose rows are not found by their numbers, is used all the same
# caught by: sqlite/damaged_rows
/^int hf_sq_db_check/,/^}/ s/return r < 0 || lost == 0 ? r : hf_sq_db_fault(db, SQLITE_CORRUPT);/return r;/
