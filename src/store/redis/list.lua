-- list.lua - every place in one line, or in all.
--
-- ARGV 4 name, or nothing for all    KEYS 3 the claim of that name, if there is one
-- -> { 0, last, foreign, on hold for, place, ... } with places as kept in t<sid>:<id>;
--    foreign: how long a claim has to live that is none of ours, else 0
local name = ARGV[4]

local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'last', 'hold')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], last = f[3], hold = f[4] }
sweep()

local ret = { 0, head.last, 0, hold_left() }
for _, letter in ipairs({ 'h', 'q' }) do
  local from, to = '[' .. letter, '(' .. string.char(string.byte(letter) + 1)
  if name then from, to = range(letter, name) end
  for _, m in ipairs(call('ZRANGEBYLEX', order, from, to)) do
    ret[#ret + 1] = call('HGET', state, 't\n' .. match(m, ' (%x+:%d+)$'))
  end
end
if name and #ret == 4 then ret[3] = claim_left(KEYS[3]) or 0 end
return ret
