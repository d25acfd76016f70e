-- leave.lua - give a place up.
--
-- ARGV 4 id 5 name    KEYS 3 the claim, if it is one
-- -> { 0, 1 } it was taken away before; { 0, 0 } it is gone now
head = { hold = f[3] and tonumber(f[3]), epoch = f[4] }
part(p, owner)
call('HDEL', state, 't' .. owner, 'a' .. owner)
call('ZREM', order, 'o' .. owner)
return { 0, 0 }
