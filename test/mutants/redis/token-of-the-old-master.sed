# src/store/redis/scripts/hello.lua: tokens of a new master start at its clock, while the old one still gives some out
# caught by: redis/sentinel_tokens
s/last = math.max(last, grace_end())/last = math.max(last, now)/
