# src/store/sqlite/files/live.c: a deleted or replaced -live file is not noticed
# caught by: sqlite/moved_files
/^bool hf_sq_live_is_at/,/^}/ s/stx\.stx_ino == live->inode \&\&/true ||/
