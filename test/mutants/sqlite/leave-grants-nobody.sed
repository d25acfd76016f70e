# src/store/sqlite/leave.c: LEAVE removes the row, and grants and wakes nobody
# caught by: promise/s3_wake on sqlite
/^int hf_sq_leave_inside/,/^}/ s/r = hf_sq_fill_room(.*/r = hf_sq_total_close(sq, own->line);/
