-- leave_alone.lua - give a place up where nobody else is; else leave.lua follows.
--
-- It stands before base.lua, as enter_alone.lua does.  Whether our session's time is up does
-- not matter: the place was ours until now, else it would not be there.
local call, sub = redis.call, string.sub
local state, order = KEYS[1], KEYS[2]
local owner, name = ARGV[2], ARGV[4]

local f = call('HMGET', state, 'epoch', 's\n' .. sub(owner, 1, 16), 't\n' .. owner,
               'l\n' .. name, 'w\n' .. name)
if f[1] == ARGV[1] and f[2] and sub(f[2], 18) == ARGV[3] and f[3] and not (f[5] or KEYS[3]) then
  local seq, weight, kind = string.match(f[3], '^g (%d+) (%d+) %-1 %d+ (%S+) ')
  if seq and f[4] == kind .. ' ' .. weight .. ' 0 0 ' .. f[1] then
    call('ZREM', order, 'h' .. name .. '\n' .. seq .. ' ' .. weight .. ' ' .. owner,
         'o' .. owner)
    call('HDEL', state, 't\n' .. owner, 'a\n' .. owner, 'k\n' .. owner, 'l\n' .. name)
    call('HINCRBY', state, 'last', 1)
    return { 0, 0 }
  end
end
