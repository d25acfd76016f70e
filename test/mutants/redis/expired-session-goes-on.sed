# src/store/redis/scripts/base.lua: a session whose lease is over may still enter and renew
# caught by: redis/scripts.py
/^local function refusal/,/^end/ s/ or tonumber(sub(session, 1, 16)) <= now//
