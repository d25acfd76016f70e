-- bye.lua - end a session and all it has: our own, or the one that a will is of.
--
-- KEYS 3 ... its claims
-- -> { 0 }; { 0, 1, name, ... } a piece of it: say it again, and give those claims as keys, too;
--    nothing was done if there are any.  Who does not is dead soon, and what is left of it is
--    for others to end.
local SOON = 100000
local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'hold')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], hold = f[3] }

local given, ret = {}, { 0, 1 }
for i = 3, #KEYS do given[KEYS[i]] = true end
for _, index in ipairs(places_of(sid, PIECE)) do
  local name = match(call('HGET', state, 't\n' .. sub(index, 2)) or '',
                     '^g %d+ %d+ %-?%d+ %d+ 1c ([^\n]*)\n')
  if name and #name <= 255 and not given[with_prefix('claim:' .. name)] then
    ret[#ret + 1] = name
  end
end
if #ret > 2 then return ret end
for i = 3, #KEYS do
  if match(call('GET', KEYS[i]) or '', '^%x+:') == sid .. ':' then call('DEL', KEYS[i]) end
end
renew(sid, ARGV[3], sub(f[2], 1, 16), SOON)
if bury(sid, PIECE) == PIECE then return ret end
call('PUBLISH', with_prefix('wake:' .. sid), '0 e') -- to its owner, should that be another
return { 0 }
