-- enter_quick.lua - the fast path of ENTER: a free line, or one more waiter for a
-- mutex.  All other cases are for enter.lua, which follows.
--
-- It runs before all those functions are even defined, and works on texts without
-- parsing them; both would double the time.  Times and tokens have sixteen digits, so
-- they compare as texts.  Numbers are passed to Redis as texts, because Lua would have
-- to print them.  Each key, argument and part of an answer costs a hundredth of the
-- whole.  So a mutex is the default, the answer is one text, and ZADD shows whether the
-- place is new, without reading it.
--
-- -> <seq>  granted, since that time; or
--    w <seq> <ahead> <patience>  waiting, since that time; or as enter.lua answers
local call, sub = redis.call, string.sub
local state, order = KEYS[1], KEYS[2]
local owner, name = ARGV[2], ARGV[4]
local weight, kind, limit, note, grant_secret = '1', '1', '0', ARGV[5], ARGV[6]
if ARGV[7] then weight, kind, limit, note, grant_secret = unpack(ARGV, 5) end
local done, last, events -- see quick.lua

local line_field = 'l\n' .. name
local f = call('HMGET', state, 'epoch', 's\n' .. sub(owner, 1, 16), 'last', 'grace', line_field,
               'w\n' .. name, 'watch_store', 'history')
if (f[7] or f[8]) and (KEYS[4] or order) == order then return { 8 } end
local session = f[2]
local quick = f[1] == ARGV[1] and session and sub(session, 18) == ARGV[3] and not f[6] and
              (kind == '1' or kind == '4294967295')
local now
if quick then
  local t = call('TIME')
  now = t[1] .. (#t[2] == 6 and t[2] or sub('00000' .. t[2], -6))
  quick = sub(session, 1, 16) > now and (not f[4] or f[4] <= now) and
          not redis.pcall('GET', sub(state, 1, -6) .. 'claim:' .. name) -- see claimed_by_others()
end

if quick and not f[5] then -- fits(): an empty line; no weight exceeds the capacity
  local seq = f[3] < now and now or string.format('%016.0f', f[3] + 1)
  local place = 'h' .. name .. '\n' .. seq .. ' ' .. weight .. ' ' .. owner
  if call('ZADD', order, '0', place, '0', 'o' .. owner) == 2 then
    local text = 'g ' .. seq .. ' ' .. weight .. ' -1 ' .. now .. ' ' .. kind .. ' ' ..
                 name .. '\n' .. note
    call('HSET', state, 'last', seq, 't\n' .. owner, text,
         line_field, kind .. ' ' .. weight .. ' 0 0 ' .. f[1])
    done, last = seq == now and now or { 0, 'g', seq, -1, now }, seq
    events = f[8] and redis.pcall('RPUSH', KEYS[4], text)
    if not f[7] and (type(events) ~= 'number' or events % 64 ~= 0) then return done end
  else -- a repeat: the answer was lost
    call('ZREM', order, place)
  end
elseif quick and kind == '1' and weight == '1' and limit == '0' and f[3] < now and
       not (f[7] or f[8]) then -- not fits(): a mutex that is held
  local line, tail = f[5], ' 0 ' .. f[1]
  local waiting = sub(line, 1, 4) == '1 1 ' and sub(line, -#tail) == tail and
                  tonumber(sub(line, 5, -#tail - 1))
  local ends = call('ZRANGEBYLEX', order, '[e', '(f', 'LIMIT', '0', '1')[1]
  local place = 'q' .. name .. '\n' .. now .. ' 1 ' .. owner
  -- Otherwise the line must be recounted or swept, or this is a repeat.
  if waiting and ends and sub(ends, 2, 17) > now then
    if call('ZADD', order, '0', place, '0', 'o' .. owner) == 2 then
      call('HSET', state, 'last', now, 'k\n' .. owner, grant_secret,
           't\n' .. owner, 'w ' .. now .. ' 1 -1 ' .. now .. ' 1 ' .. name .. '\n' .. note,
           line_field, '1 1 ' .. waiting + 1 .. tail)
      return 'w ' .. now .. ' ' .. waiting + 1 .. ' ' .. sub(ends, 2, 17) - now
    end
    call('ZREM', order, place)
  end
end
