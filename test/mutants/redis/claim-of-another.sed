# src/store/redis/scripts/leave.lua: LEAVE does not look at the key of a claim: it deletes that of the next holder, and says that all was well
# caught by: redis/scripts.py
s/^local p = own_place(owner, f\[3\], KEYS\[5\])/local p = parse_place(f[3])/
