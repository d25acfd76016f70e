-- list.lua - every place in one line, or in all, in pieces.
--
-- ARGV 4 name, or "" for all 5 where the last piece ended, if this is not the first
-- KEYS 5 the claim of that name, if a name is given
-- -> { 0, last, foreign, grace period left, end of this piece, place, ... } with places as in
--    the fields t_, each followed by a NUL and the time left of its lease; foreign: time left
--    of another program's claim, else 0; the end is "" after the last piece
--
-- Waiters are listed first.  So a waiter that is granted between two pieces is listed twice,
-- and not left out.
local name, after = ARGV[4] or '', ARGV[5] or ''
local MOST = 1000

local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'last', 'grace')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], last = f[3], grace = f[4] }
sweep()

local lefts = {}
local function left_of(whom)
  if not lefts[whom] then
    local session = call('HGET', state, 's\n' .. whom)
    lefts[whom] = fmt('\0%.0f', session and tonumber(sub(session, 1, 16)) - now or 0)
  end
  return lefts[whom]
end

local ret, count = { 0, head.last, 0, grace_left(), '' }, 0
for _, letter in ipairs({ 'q', 'h' }) do
  local from, to = '[' .. letter, '(' .. string.char(string.byte(letter) + 1)
  if name ~= '' then from, to = range(letter, name) end
  if sub(after, 1, 1) == letter then from = '(' .. after end
  if count < MOST and not (letter == 'q' and sub(after, 1, 1) == 'h') then
    local some = call('ZRANGEBYLEX', order, from, to, 'LIMIT', 0, MOST - count)
    count = count + #some
    if count == MOST then ret[5] = some[#some] end
    for _, m in ipairs(some) do
      local whom, id = match(m, ' (%x+):(%d+)$')
      local text = call('HGET', state, fmt('t\n%s:%s', whom, id))
      ret[#ret + 1] = text and text .. left_of(whom)
    end
  end
end
if name ~= '' and after == '' and count == 0 then ret[3] = claim_left(KEYS[5]) or 0 end
return ret
