-- break.lua - take a place away from its owner.  Follows anybody.lua.
--
-- ARGV 4 name 5 seq 6 who breaks it    KEYS 5 the claim of that name
-- -> { 0 }; { 6 } there is no such place
if not found then return { 6 } end
local whom, id = match(found, ' (%x+):(%d+)$')
local owner = whom .. ':' .. id
local p = parse_place(call('HGET', state, 't\n' .. owner))
if call('GET', KEYS[5]) == claim_value(owner, p.seq) then call('DEL', KEYS[5]) end
take_away(p, owner, ARGV[6])
send_message(whom, 'b ' .. id)
return { 0 }
