# src/store/sqlite/line/grant.c: a place is granted, but its session is not notified
# caught by: promise/s3_wake on sqlite
/^static int grant_row/,/^}/ s/return r < 0 ? r : hf_sq_wake_add(.*/return r;/
