-- leave.lua - give a place up.
--
-- ARGV 4 name    KEYS 5 the claim, if it is one
-- -> { 0, 1 } it was taken away before; { 0, 0 } it is gone now
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
if not f[3] then return { 0, 0 } end

local p = parse_place(f[3])
if KEYS[5] and call('GET', KEYS[5]) == claim_value(owner, p.seq) then call('DEL', KEYS[5]) end
if p.state == 'b' then return { 0, 1 } end -- as often as it is asked
head = { epoch = f[1], hold = call('HGET', state, 'hold'), survey = f[6], history = f[7] }
forget(owner)
part(p, owner, 'r', true, f[4], f[5])
return { 0, 0 }
