# src/store/redis/scripts/reclaim.lua: a holder comes back to a line of another kind, which then grants by that kind
# caught by: redis/scripts_lost_data.py
s/^  if line.kind == p.kind then return false end$/  if true then return false end/
