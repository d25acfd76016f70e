-- leave.lua - give a place up.
--
-- ARGV 4 name    KEYS 5 the claim, if it is one
-- -> { 0, 1 } it had been taken away; { 0, 0 } it is gone now
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
if not f[3] then return { 0, 0 } end

head = { epoch = f[1], grace = call('HGET', state, 'grace'), watch_store = f[6], history = f[7] }
local p = own_place(owner, f[3], KEYS[5])
if p.state == 'b' then return { 0, 1 } end -- a repeat gets the same answer
if p.kind == '1c' then call('DEL', KEYS[5]) end
delete_place(owner)
remove_place(p, owner, 'r', true, f[4], f[5])
return { 0, 0 }
