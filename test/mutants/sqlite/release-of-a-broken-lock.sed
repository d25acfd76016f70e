# src/store/sqlite/leave.c: a release answers OK although the place was taken away
# caught by: promise/s8_truth on sqlite
/^static int leave_own/,/^}/ s/return r == 1 ? 0 :.*/return 0;/
