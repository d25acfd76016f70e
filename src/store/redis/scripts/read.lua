-- read.lua - read our own place.
--
-- ARGV 4 name 5 write something, too, for replicas to confirm (1)
-- KEYS 5 the claim, if it is one
-- -> as show(); { 0, '-' } there is no such place
local owner, name = ARGV[2], ARGV[4]

local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'last', 'grace', 't\n' .. owner,
               'l\n' .. name, 'a\n' .. owner)
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], last = f[3], grace = f[4] }
if ARGV[5] == '1' then
  begin_write()
  call('HSET', state, 'epoch', ARGV[1])
end
local p = f[5] and own_place(owner, f[5], KEYS[5])
if not p or p.state == 'b' then return { 0, '-' } end
begin_write()
refresh(name, parse_line(f[6], p.kind), owner)
if p.state == 'w' then
  sweep()
  p = parse_place(call('HGET', state, 't\n' .. owner))
else
  grant_more()
end
return show(p, owner, f[7])
