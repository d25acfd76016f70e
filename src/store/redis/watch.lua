-- watch.lua - be told once a line changes.
--
-- ARGV 4 name 5 `last` when we looked, 0: not known 6 ... seqs: fire if one has left
-- KEYS 5 the claim of that name
-- -> { 0, 1 } it has changed already; { 0, 0, patience, when to look again at a claim that
--    is none of ours } we are told
local name = ARGV[4]

local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'last', 'hold')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], last = f[3], hold = f[4] }
sweep()
if not ARGV[6] and ARGV[5] ~= '0' and ARGV[5] ~= head.last then return { 0, 1 } end

local foreign -- who claims by a plain SET is in no line; its key tells how long
for i = 6, #ARGV do
  local there = false
  if ARGV[i] == '0' then
    foreign = claim_patience(KEYS[5])
    there = foreign ~= nil
  end
  for _, letter in ipairs({ 'h', 'q' }) do
    local from = fmt('%s%s\n%s', letter, name, ARGV[i])
    there = there or call('ZLEXCOUNT', order, '[' .. from .. ' ', '(' .. from .. '!') > 0
  end
  if not there then return { 0, 1 } end
end
call('ZADD', order, 0, 'w' .. name .. '\n' .. sid, 0, 'v' .. sid .. '\n' .. name)
call('HSET', state, 'w\n' .. name, '1')
return { 0, 0, patience(), foreign or 0 }
