-- bye.lua - end a session and all its places: our own, or the one that a session key names.
--
-- KEYS 5 ... its claims
-- ARGV 4 shorten its lease to this, if not all is ended: others end the rest then.  Missing
--      when called with a session key: others could not delete the keys of its claims
-- -> { 0 }; { 0, 1, name, ... } only a piece is ended: call again, with the keys of these
--    claims, too; nothing was done if there are any; { 2 } nothing is left of it
--
-- An expired lease does not matter: others may have ended only a part of the session.
local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'grace')
if f[1] ~= ARGV[1] then return { 1 } end
if not f[2] then return { 2 } end
local till, connection = match(f[2], '^(%d+) (%d+)$')
if connection ~= ARGV[3] then return { 3 } end
head = { epoch = f[1], grace = f[3] }

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
if end_session(sid, PIECE, ARGV[4] and 'r') == PIECE then return ret end
call('PUBLISH', with_prefix('wake:' .. sid), '0 e') -- its owner may be another client
return { 0 }
