-- amend.lua - make the own place weigh less.
--
-- ARGV 4 id 5 name 6 weight
-- -> as show(); { 0, changes, '-' } there is none
local owner, name, weight = sid .. ':' .. ARGV[4], ARGV[5], tonumber(ARGV[6])

local f = call('HMGET', state, 'run', 's' .. sid, 'hold', 'epoch', 'changes', 't' .. owner,
               'l' .. name, 'w' .. name, 'a' .. owner)
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { hold = f[3] and tonumber(f[3]), epoch = f[4], changes = f[5] or '0' }
local p = f[6] and parse_place(f[6])
if not p or p.state == 'b' then return { 0, tonumber(head.changes), '-' } end

if weight < p.weight then
  local line = parse_line(f[7], p.kind)
  refresh(name, line)
  p = parse_place(call('HGET', state, 't' .. owner))
  call('ZREM', order, member(p, owner))
  if p.state == 'g' then line.used = line.used - p.weight + weight end
  p.weight = weight
  call('ZADD', order, 0, member(p, owner))
  call('HSET', state, 't' .. owner, place_text(p))
  advance(name, line, owner)
  store_line(name, line)
  head.changes = call('HINCRBY', state, 'changes', 1)
  if f[8] then tell_watchers(name) end
  p = parse_place(call('HGET', state, 't' .. owner))
end
return show(p, owner, f[9])
