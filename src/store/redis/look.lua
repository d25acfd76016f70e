-- look.lua - what EXAMINE wants to know.
--
-- ARGV 4 name, or nothing
-- -> { 0, sessions, holders, waiters, on hold for, longest ttl, last token, epoch,
--      holders and waiters of that name }
local f = call('HMGET', state, 'run', 's' .. sid, 'hold', 'epoch', 'ttl', 'last')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { hold = f[3] and tonumber(f[3]), epoch = f[4] }
sweep()
local function count(letter, name)
  if name then return call('ZLEXCOUNT', order, range(letter, name)) end
  return call('ZLEXCOUNT', order, '[' .. letter, '(' .. string.char(string.byte(letter) + 1))
end
return { 0, count('e'), count('h'), count('q'), on_hold() and head.hold - now or 0,
         tonumber(f[5]), f[6], f[4], ARGV[4] and count('h', ARGV[4]) or 0,
         ARGV[4] and count('q', ARGV[4]) or 0 }
