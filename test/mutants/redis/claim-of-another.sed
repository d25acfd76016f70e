# src/store/redis/scripts/leave.lua: LEAVE deletes the key of a claim without comparing its owner: it may be the next holder's
# caught by: redis/scripts.py
s/^if KEYS\[5\] and call('GET', KEYS\[5\]) == claim_value(owner, p.seq) then/if KEYS[5] then/
