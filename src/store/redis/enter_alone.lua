-- enter_alone.lua - take a place where nobody is; enter.lua follows if somebody is.
--
-- It stands before line.lua: to make all those functions would take about a fifth longer.
local id, name, weight, kind = ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7]
local owner = sid .. ':' .. id

local f = call('HMGET', state, 'run', 's' .. sid, 'last', 'hold', 'epoch', 'changes',
               't' .. owner, 'l' .. name, 'w' .. name)
local wrong = refusal(f[1], f[2])
if wrong then return wrong end

if not (f[7] or f[8] or f[9]) and (kind == '1' or kind == '4294967295') and
   tonumber(f[4]) <= now then
  local p = { state = 'g', seq = fmt('%016.0f', math.max(f[3] + 1, now)), weight = weight,
              slot = -1, since = fmt('%.0f', now), kind = kind, name = name, note = ARGV[10] }
  local line = { kind = kind, used = weight, waiting = 0, slots = 0, epoch = f[5] }
  local changes = (f[6] or 0) + 1
  call('ZADD', order, 0, member(p, owner), 0, 'o' .. owner)
  call('HSET', state, 'last', p.seq, 'changes', fmt('%d', changes), 't' .. owner,
       place_text(p), 'l' .. name, line_text(line))
  return { 0, changes, 'g', p.seq, -1, p.since, weight, 0, '0', 0, false }
end
