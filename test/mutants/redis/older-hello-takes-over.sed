# src/store/redis/scripts/hello.lua: an older connection takes a session back from a newer one
# caught by: redis/scripts.py
s/^if connection and tonumber(connection) > tonumber(ARGV\[3\]) then return { 3 } end//
