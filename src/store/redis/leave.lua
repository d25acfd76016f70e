-- leave.lua - give a place up.
--
-- ARGV 4 id 5 name    KEYS 3 the claim, if it is one
-- -> { 0, 1 } it was taken away before; { 0, 0 } it is gone now
local owner, name = sid .. ':' .. ARGV[4], ARGV[5]

local f = call('HMGET', state, 'run', 's' .. sid, 'hold', 'epoch', 't' .. owner, 'l' .. name,
               'w' .. name)
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { hold = f[3] and tonumber(f[3]), epoch = f[4] }
if not f[5] then return { 0, 0 } end

local p = parse_place(f[5])
if KEYS[3] and call('GET', KEYS[3]) == owner .. ':' .. p.seq then call('DEL', KEYS[3]) end
if p.state == 'b' then return { 0, 1 } end -- as often as it is asked
local line = parse_line(f[6], p.kind)
if p.state == 'g' and line.waiting == 0 and line.used == p.weight and line.slots == 0 and
   line.epoch == head.epoch and not f[7] then -- alone: nobody to think of
  call('ZREM', order, member(p, owner), 'o' .. owner)
  call('HDEL', state, 't' .. owner, 'a' .. owner, 'l' .. name)
  call('HINCRBY', state, 'changes', 1)
  return { 0, 0 }
end
part(p, owner)
call('HDEL', state, 't' .. owner, 'a' .. owner)
call('ZREM', order, 'o' .. owner)
return { 0, 0 }
