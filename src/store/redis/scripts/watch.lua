-- watch.lua - get a message when a line changes.
--
-- ARGV 4 name 5 `last` when we listed the line 6 the seq of a place that was there
--      A seq of 0: any change since `last` counts.  Both 0: another program's claim was there
-- KEYS 5 the claim of that name
-- -> { 0, 1 } it has changed already; { 0, 0, patience, when to check another program's claim
--    again } we will get a message
local name, last, seq = ARGV[4], ARGV[5], ARGV[6]

local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'last', 'grace')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], last = f[3], grace = f[4] }
sweep()

local foreign, there -- another program's claim is in no line; its key has an expiry
if seq ~= '0' then
  there = find_place(name, seq)
elseif last ~= '0' then
  there = last == head.last
else
  foreign = claim_patience(KEYS[5])
  there = foreign
end
if not there then return { 0, 1 } end
call('ZADD', order, 0, 'w' .. name .. '\n' .. sid, 0, 'v' .. sid .. '\n' .. name)
call('HSET', state, 'w\n' .. name, '1')
return { 0, 0, patience(), foreign or 0 }
