-- leave_quick.lua - give a place up where nobody else is, or a mutex for the next; all else is
-- for leave.lua, which follows.
--
-- It stands before all else, as enter_quick.lua does.  Whether our session's time is up does
-- not matter: the place was ours until now, else it would not be there.
--
-- -> 0  it is gone now; or as leave.lua answers
local call, sub = redis.call, string.sub
local state, order = KEYS[1], KEYS[2]
local owner, name = ARGV[2], ARGV[4]
local done, last, events -- see quick.lua

local f = call('HMGET', state, 'epoch', 's\n' .. sub(owner, 1, 16), 't\n' .. owner,
               'l\n' .. name, 'w\n' .. name, 'survey', 'history')
local seq, weight, kind, rest
if f[1] == ARGV[1] and f[2] and sub(f[2], 18) == ARGV[3] and f[3] and not (f[5] or KEYS[5]) then
  seq, weight, kind, rest = string.match(f[3], '^g (%d+) (%d+) %-1 %d+ (%S+) ()')
end
local member = seq and 'h' .. name .. '\n' .. seq .. ' ' .. weight .. ' ' .. owner

if seq and f[4] == kind .. ' ' .. weight .. ' 0 0 ' .. f[1] then
  call('ZREM', order, member, 'o' .. owner)
  call('HDEL', state, 't\n' .. owner, 'a\n' .. owner, 'k\n' .. owner, 'l\n' .. name)
  done, last = 0, call('HINCRBY', state, 'last', '1')
  if f[7] then
    local t = call('TIME')
    events = redis.pcall('RPUSH', KEYS[4], 'r ' .. seq .. ' ' .. weight .. ' -1 ' .. t[1] ..
                         sub('00000' .. t[2], -6) .. ' ' .. kind .. ' ' .. sub(f[3], rest))
  end
  if not f[6] and (type(events) ~= 'number' or events % 64 ~= 0) then return done end
elseif seq and kind == '1' and not (f[6] or f[7]) then
  local waiting, epoch = string.match(f[4] or '', '^1 1 (%d+) 0 (%d+)$')
  local t = call('TIME')
  local now = t[1] .. sub('00000' .. t[2], -6)
  local from, to = '[q' .. name .. '\n', '(q' .. name .. '\11'
  local first, whom, id, g, since
  if epoch == f[1] and (call('HGET', state, 'hold') or '0') <= now and
     call('ZLEXCOUNT', order, from, to) == tonumber(waiting) then
    first = call('ZRANGEBYLEX', order, from, to, 'LIMIT', '0', '1')[1]
    whom, id = string.match(first or '', '^[^\n]*\n%d+ 1 (%x+):(%d+)$')
  end
  if whom then
    g = call('HMGET', state, 't\n' .. whom .. ':' .. id, 'k\n' .. whom .. ':' .. id)
    since, rest = string.match(g[1] or '', '^w %d+ 1 %-1 ()%d+( 1 .*)$')
  end
  -- Else the line is to be counted anew, nobody may be granted anything, or it does not fit
  -- together.
  if since then
    call('ZREM', order, member, 'o' .. owner, first)
    call('ZADD', order, '0', 'h' .. sub(first, 2))
    call('HDEL', state, 't\n' .. owner, 'a\n' .. owner, 'k\n' .. owner)
    call('HSET', state, 't\n' .. whom .. ':' .. id, 'g' .. sub(g[1], 2, since - 1) .. now .. rest,
         'l\n' .. name, '1 1 ' .. waiting - 1 .. ' 0 ' .. epoch)
    call('HINCRBY', state, 'last', '1')
    local n = call('HINCRBY', state, 'n\n' .. whom, '1')
    call('PUBLISH', sub(state, 1, -6) .. 'wake:' .. whom,
         string.format('%d g %s -1 %s %s', n, id, now, g[2] or ''))
    return 0
  end
end
