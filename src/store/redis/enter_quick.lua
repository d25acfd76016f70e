-- enter_quick.lua - take a place where nobody is, or behind others for a mutex; all else is for
-- enter.lua, which follows.
--
-- It stands before all else, and works with texts as they are: to make all those functions,
-- and to read what nobody wrote, would take twice as long.  Times and tokens have sixteen
-- digits, so that texts compare as numbers do.  A number that is given to the server as one
-- is printed first, so it is given as a text; and an answer of one part takes a tenth of the
-- time that one of six does.
--
-- -> <seq>  granted, since then; or as enter.lua answers
local call, sub = redis.call, string.sub
local state, order = KEYS[1], KEYS[2]
local owner, name, weight, kind = ARGV[2], ARGV[4], ARGV[5], ARGV[6]
local done, last, events -- see quick.lua

local f = call('HMGET', state, 'epoch', 's\n' .. sub(owner, 1, 16), 'last', 'hold',
               't\n' .. owner, 'l\n' .. name, 'w\n' .. name, 'survey', 'history')
local session = f[2]
local quick = f[1] == ARGV[1] and session and sub(session, 18) == ARGV[3] and
              not (f[5] or f[7]) and (kind == '1' or kind == '4294967295')
local now
if quick then
  local t = call('TIME')
  now = t[1] .. sub('00000' .. t[2], -6)
  quick = sub(session, 1, 16) > now and (f[4] or '0') <= now
end

if quick and not f[6] then
  local seq = now
  if f[3] >= now then seq = string.format('%016.0f', f[3] + 1) end
  local text = 'g ' .. seq .. ' ' .. weight .. ' -1 ' .. now .. ' ' .. kind .. ' ' ..
               name .. '\n' .. ARGV[8]
  call('ZADD', order, '0', 'h' .. name .. '\n' .. seq .. ' ' .. weight .. ' ' .. owner,
       '0', 'o' .. owner)
  call('HSET', state, 'last', seq, 't\n' .. owner, text,
       'l\n' .. name, kind .. ' ' .. weight .. ' 0 0 ' .. f[1])
  done, last = seq == now and now or { 0, 'g', seq, seq, -1, now }, seq
  events = f[9] and redis.pcall('RPUSH', KEYS[4], text)
  if not f[8] and (type(events) ~= 'number' or events % 64 ~= 0) then return done end
elseif quick and kind == '1' and weight == '1' and ARGV[7] == '0' and f[3] < now and
       not (f[8] or f[9]) then
  local waiting, epoch = string.match(f[6], '^1 1 (%d+) 0 (%d+)$')
  local ends = call('ZRANGEBYLEX', order, '[e', '(f', 'LIMIT', '0', '1')[1]
  local first = (waiting == '0' and 'h' or 'q') .. name
  local nearest = epoch == f[1] and call('ZREVRANGEBYLEX', order, '(' .. first .. '\11',
                                         '[' .. first .. '\n', 'LIMIT', '0', '1')[1]
  -- Else the line is to be counted anew, or to be swept, or does not fit together.
  if nearest and ends and sub(ends, 2, 17) > now then
    call('ZADD', order, '0', 'q' .. name .. '\n' .. now .. ' 1 ' .. owner, '0', 'o' .. owner)
    call('HSET', state, 'last', now, 'k\n' .. owner, ARGV[9],
         't\n' .. owner, 'w ' .. now .. ' 1 -1 ' .. now .. ' 1 ' .. name .. '\n' .. ARGV[8],
         'l\n' .. name, '1 1 ' .. waiting + 1 .. ' 0 ' .. epoch)
    return { 0, 'w', now, now, -1, now, 1, waiting + 1, sub(nearest, #name + 3, #name + 18),
             false, sub(ends, 2, 17) - now }
  end
end
