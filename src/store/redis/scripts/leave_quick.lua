-- leave_quick.lua - the fast path of LEAVE: the last place of a line, or a mutex handed
-- to the next waiter.  All other cases are for leave.lua, which follows.
--
-- It runs first, as enter_quick.lua does, and cuts texts at fixed positions: that takes
-- a fifth of the time of a pattern.  An expired lease does not matter: as long as the
-- place exists, it is ours.
--
-- -> 0  it is gone now; or as leave.lua answers
local call, sub = redis.call, string.sub
local state, order = KEYS[1], KEYS[2]
local owner, name = ARGV[2], ARGV[4]
local done, last, events -- see quick.lua

local place_field, line_field = 't\n' .. owner, 'l\n' .. name
local f = call('HMGET', state, 'epoch', 's\n' .. sub(owner, 1, 16), place_field, line_field,
               'w\n' .. name, 'watch_store', 'history')
if (f[6] or f[7]) and (KEYS[4] or order) == order then return { 8 } end
local place, line = f[3], f[4]
local weight, kind = '1', '1' -- of every place in a line of mutexes
local tail, member
if f[1] == ARGV[1] and f[2] and sub(f[2], 18) == ARGV[3] and place and line and
   not (f[5] or KEYS[5]) and sub(place, 1, 1) == 'g' then
  if sub(line, 1, 2) ~= '1 ' then
    weight, kind = string.match(place, '^g %d+ (%d+) %-1 %d+ (%S+) ')
  end
  tail = ' 0 ' .. f[1]
  member = weight and 'h' .. name .. '\n' .. sub(place, 3, 18) .. ' ' .. weight .. ' ' .. owner
end

if member and line == kind .. ' ' .. weight .. ' 0' .. tail then
  call('ZREM', order, member, 'o' .. owner)
  call('HDEL', state, place_field, 'a\n' .. owner, 'k\n' .. owner, line_field)
  done, last = 0, call('HINCRBY', state, 'last', '1')
  if f[7] then
    local t = call('TIME')
    events = redis.pcall('RPUSH', KEYS[4], 'r ' .. sub(place, 3, 18) .. ' ' .. weight .. ' -1 ' ..
                         t[1] .. sub('00000' .. t[2], -6) ..
                         string.match(place, '^g %d+ %d+ %-1 %d+(.*)$'))
  end
  if not f[6] and (type(events) ~= 'number' or events % 64 ~= 0) then return done end
elseif member and kind == '1' and not (f[6] or f[7]) then
  local waiting = sub(line, 1, 4) == '1 1 ' and sub(line, -#tail) == tail and
                  tonumber(sub(line, 5, -#tail - 1))
  local from, to, at = '[q' .. name .. '\n', '(q' .. name .. '\11', #name
  local first = waiting and call('ZLEXCOUNT', order, from, to) == waiting and
                call('ZRANGEBYLEX', order, from, to, 'LIMIT', '0', '1')[1]
  if first then -- fits(): the only holder gives the mutex up
    local next = sub(first, at + 22) -- <sid>:<id>
    local whom, t = sub(next, 1, 16), call('TIME')
    local now = t[1] .. (#t[2] == 6 and t[2] or sub('00000' .. t[2], -6))
    local g = call('HMGET', state, 't\n' .. next, 'k\n' .. next, 'n\n' .. whom, 'last', 'grace')
    local text = 'w ' .. sub(first, at + 3, at + 18) .. ' 1 -1 '
    -- Otherwise the line must be recounted, it is the grace period, or the data are
    -- inconsistent.
    if g[1] and sub(g[1], 1, 24) == text and sub(g[1], 41, 43) == ' 1 ' and g[4] and
       (not g[5] or g[5] <= now) then
      local n = (g[3] or 0) + 1
      call('ZREM', order, member, 'o' .. owner, first)
      call('ZADD', order, '0', 'h' .. sub(first, 2))
      call('HDEL', state, place_field, 'a\n' .. owner, 'k\n' .. owner)
      call('HSET', state, 't\n' .. next, 'g' .. sub(text, 2) .. now .. sub(g[1], 41),
           line_field, '1 1 ' .. waiting - 1 .. tail,
           'last', string.format('%016.0f', g[4] + 1), 'n\n' .. whom, n)
      call('PUBLISH', sub(state, 1, -6) .. 'wake:' .. whom,
           n .. ' g ' .. sub(next, 18) .. ' -1 ' .. now .. ' ' .. (g[2] or ''))
      return 0
    end
  end
end
