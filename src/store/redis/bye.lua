-- bye.lua - end a session and all it has: our own, or the one that a will is of.
--
-- KEYS 5 ... its claims
-- ARGV 4 how long it lives at most, if this is not said again: what is left of it is for others
--      to end then.  None, by a will: as long as its lease; for others could not end its claims
-- -> { 0 }; { 0, 1, name, ... } a piece of it: say it again, and give those claims as keys, too;
--    nothing was done if there are any; { 2 } nothing is left of it
--
-- That the lease is over does not matter: others may have ended a part of it, but not the rest.
local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'hold')
if f[1] ~= ARGV[1] then return { 1 } end
if not f[2] then return { 2 } end
local till, connection = match(f[2], '^(%d+) (%d+)$')
if connection ~= ARGV[3] then return { 3 } end
head = { epoch = f[1], hold = f[3] }

local given, ret = {}, { 0, 1 }
for i = 5, #KEYS do given[KEYS[i]] = true end
for _, index in ipairs(places_of(sid, PIECE)) do
  local name = match(call('HGET', state, 't\n' .. sub(index, 2)) or '',
                     '^g %d+ %d+ %-?%d+ %d+ 1c ([^\n]*)\n')
  if name and #name <= 255 and not given[with_prefix('claim:' .. name)] then
    ret[#ret + 1] = name
  end
end
if #ret > 2 then return ret end
for i = 5, #KEYS do
  if match(call('GET', KEYS[i]) or '', '^(holdfast:%x+:)') == claim_value(sid, '') then
    call('DEL', KEYS[i])
  end
end
if ARGV[4] and tonumber(till) - now > tonumber(ARGV[4]) then
  renew(sid, connection, till, tonumber(ARGV[4]))
end
if bury(sid, PIECE, ARGV[4] and 'r') == PIECE then return ret end
call('PUBLISH', with_prefix('wake:' .. sid), '0 e') -- to its owner, should that be another
return { 0 }
