-- anybody.lua - find anybody's place, for break.lua, ask.lua and verify.lua.
--
-- ARGV 4 name 5 seq    Sets `found`: see find_place().
local name, seq = ARGV[4], ARGV[5]

local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'grace')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], grace = f[3] }
sweep()
local found = find_place(name, seq)
