# src/store/redis/scripts/hello.lua: what was found out before all data were lost decides about the grace period
# caught by: redis/scripts_lost_data.py
s/^local found = blank and known == head.epoch and/local found = blank and/
