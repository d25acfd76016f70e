# src/store/redis/scripts/line.lua: locks are granted before holders had time to reclaim theirs
# caught by: redis/scripts_lost_data.py
/^local function fits/,/^end/ s/ and not in_grace()//
