# src/store/redis/scripts/base.lua: a call that was sent on an older connection takes effect
# caught by: redis/scripts.py
/^local function refusal/,/^end/ s/if sub(session, 18) ~= ARGV\[3\] then return { 3 } end//
