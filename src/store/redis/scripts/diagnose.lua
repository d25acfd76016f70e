-- diagnose.lua - the facts for DIAGNOSE.
--
-- ARGV 4 name, or nothing    KEYS 5 the claim of that name
-- -> { 0, sessions, holders, waiters, grace period left, longest ttl, last token, epoch,
--      holders of that name, waiters of that name, time, time left of another program's claim (-1
--      if it never expires), a place of the session with the longest ttl or "", whether the
--      first client that locks begins a grace period: 1 it does, 2 canaries tell }
local name = ARGV[4]

local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'last', 'grace', 'read_only', 'blank')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], last = f[3], grace = f[4] }
sweep()

local function count(letter)
  return call('ZLEXCOUNT', order, '[' .. letter, '(' .. string.char(string.byte(letter) + 1))
end

local holders, waiters, foreign = 0, 0, 0
if name then
  holders = call('ZLEXCOUNT', order, range('h', name))
  waiters = call('ZLEXCOUNT', order, range('q', name))
  if holders == 0 then
    foreign = call('PTTL', KEYS[5]) == -1 and -1 or claim_left(KEYS[5]) or 0
  end
end
local longest, whose = longest_lease()
local place = whose and places_of(whose, 1)[1]
-- A blank epoch lasts until somebody has looked for canaries.
local left = f[6] and 0 or grace_left()
local next_grace = f[5] == 'kept' and 1 or (f[5] or f[6]) and 2 or 0
return { 0, count('e'), count('h'), count('q'), left, tonumber(longest), head.last, f[1], holders,
         waiters, fmt('%.0f', now), foreign, call('HGET', state, 't\n' .. sub(place or '', 2)) or '',
         next_grace }
