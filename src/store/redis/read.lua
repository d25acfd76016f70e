-- read.lua - the own place as it is.
--
-- ARGV 4 id 5 name 6 leave a mark in the stream to the replicas (1)
-- -> as show(); { 0, changes, '-' } there is none
local owner, name = sid .. ':' .. ARGV[4], ARGV[5]

local f = call('HMGET', state, 'run', 's' .. sid, 'hold', 'epoch', 'changes', 't' .. owner,
               'l' .. name, 'a' .. owner)
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { hold = f[3] and tonumber(f[3]), epoch = f[4], changes = f[5] or '0' }
if ARGV[6] == '1' then call('HSET', state, 'run', ARGV[1]) end
if not f[6] then return { 0, tonumber(head.changes), '-' } end

local p = parse_place(f[6])
if p.state == 'b' then return { 0, tonumber(head.changes), '-' } end
refresh(name, parse_line(f[7], p.kind), owner)
if p.state == 'w' then
  sweep()
  p = parse_place(call('HGET', state, 't' .. owner))
  head.changes = call('HGET', state, 'changes') or '0'
end
return show(p, owner, f[8])
