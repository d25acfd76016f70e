-- leave_alone.lua - give a place up where nobody else is; else leave.lua follows.
--
-- It stands before all else, as enter_alone.lua does.  Whether our session's time is up does
-- not matter: the place was ours until now, else it would not be there.
--
-- -> 0  it is gone now
local call, sub = redis.call, string.sub
local state, order = KEYS[1], KEYS[2]
local owner, name = ARGV[2], ARGV[4]
local done, last, events -- see alone.lua

local f = call('HMGET', state, 'epoch', 's\n' .. sub(owner, 1, 16), 't\n' .. owner,
               'l\n' .. name, 'w\n' .. name, 'survey', 'history')
if f[1] == ARGV[1] and f[2] and sub(f[2], 18) == ARGV[3] and f[3] and not (f[5] or KEYS[5]) then
  local seq, weight, kind, rest = string.match(f[3], '^g (%d+) (%d+) %-1 %d+ (%S+) ()')
  if seq and f[4] == kind .. ' ' .. weight .. ' 0 0 ' .. f[1] then
    call('ZREM', order, 'h' .. name .. '\n' .. seq .. ' ' .. weight .. ' ' .. owner,
         'o' .. owner)
    call('HDEL', state, 't\n' .. owner, 'a\n' .. owner, 'k\n' .. owner, 'l\n' .. name)
    done, last = 0, call('HINCRBY', state, 'last', '1')
    if f[7] then
      local t = call('TIME')
      events = redis.pcall('RPUSH', KEYS[4], 'r ' .. seq .. ' ' .. weight .. ' -1 ' .. t[1] ..
                           sub('00000' .. t[2], -6) .. ' ' .. kind .. ' ' .. sub(f[3], rest))
    end
    if not f[6] and (type(events) ~= 'number' or events % 64 ~= 0) then return done end
  end
end
