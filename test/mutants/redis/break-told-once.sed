# src/store/redis/scripts/leave.lua: the first release of a broken place forgets it; if its answer is lost, the next one is told that all was well
# caught by: fault/broken_release on redis
s/if p.state == 'b' then return { 0, 1 } end/if p.state == 'b' then delete_place(owner) return { 0, 1 } end/
