# src/store/redis/scripts/hello.lua: a server without data counts as new, though another was the master since
# caught by: redis/scripts_lost_data.py, redis/sentinel_back
s/^ *(ARGV\[11\] == '' or ARGV\[11\] == '0')/              true/
