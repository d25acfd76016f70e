# src/store/redis/scripts/line.lua: the slot of a holder that left is never given out again
# caught by: redis/scripts.py
/^local function remove_place/,/^end/ s/give_slot(p.name, p.slot)//
