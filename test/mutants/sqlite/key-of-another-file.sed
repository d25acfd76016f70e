# src/store/sqlite/session_key.c: a session key ends a session of another file
# caught by: sqlite/session_key
/^static int open_its_file/,/^}/ s/sq->live.inode == sq->to_end.inode/true/
