-- list.lua - every place in one line, or in all.
--
-- ARGV 4 name, or nothing for all    KEYS 5 the claim of that name, if there is one
-- -> { 0, last, foreign, on hold for, place, ... } with places as kept in t<sid>:<id>, and behind
--    a zero byte how much of the lease is left; foreign: how long a claim has to live that is none of ours, else 0
local name = ARGV[4]

local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'last', 'hold')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], last = f[3], hold = f[4] }
sweep()

local lefts = {}
local function left_of(whom)
  if not lefts[whom] then
    local session = call('HGET', state, 's\n' .. whom)
    lefts[whom] = fmt('\0%.0f', session and tonumber(sub(session, 1, 16)) - now or 0)
  end
  return lefts[whom]
end

local ret = { 0, head.last, 0, hold_left() }
for _, letter in ipairs({ 'h', 'q' }) do
  local from, to = '[' .. letter, '(' .. string.char(string.byte(letter) + 1)
  if name then from, to = range(letter, name) end
  for _, m in ipairs(call('ZRANGEBYLEX', order, from, to)) do
    local whom, id = match(m, ' (%x+):(%d+)$')
    local text = call('HGET', state, fmt('t\n%s:%s', whom, id))
    ret[#ret + 1] = text and text .. left_of(whom)
  end
end
if name and #ret == 4 then ret[3] = claim_left(KEYS[5]) or 0 end
return ret
