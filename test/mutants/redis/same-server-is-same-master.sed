# src/store/redis/scripts/hello.lua: Sentinels go back to a server that they replaced, and its old data count
# caught by: redis/scripts_lost_data.py, redis/sentinel_back
/^local other = may_have_lost_data/ s/ or$//
/^ *(ARGV\[11\] ~= /d
