# src/store/redis/scripts/server.lua: a server that was restarted or promoted counts as the same
# caught by: redis/scripts_lost_data.py
/^local function may_have_lost_data/,/^end/ s/return not run or .*/return not run or/
/^local function may_have_lost_data/,/^end/ s/(match(before, .*/false/
