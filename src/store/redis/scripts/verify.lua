-- verify.lua - does a place still hold?  Follows anybody.lua.
--
-- ARGV 4 name 5 seq    KEYS 5 the claim of that name
-- -> { 0 }; { 6 } there is no such place, it waits, or its claim is gone
if not found or sub(found, 1, 1) ~= 'h' then return { 6 } end
local owner = match(found, '(%x+:%d+)$')
local p = parse_place(call('HGET', state, 't\n' .. owner))
if claim_is_gone(p, owner, KEYS[5]) then return { 6 } end
return { 0 }
