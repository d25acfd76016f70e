# src/store/sqlite/files/live.c: a stopped process that has the write lock is waited for without limit
# caught by: sqlite/write_lock
/^bool hf_sq_write_lock_take/,/^}/ s/if (slept > patience)/if (slept > HF_NEVER - 1)/
