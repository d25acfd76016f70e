-- amend.lua - make the own place weigh less.
--
-- ARGV 4 id 5 name 6 weight
-- -> as show(); { 0, changes, '-' } there is none
local owner, name, weight = sid .. ':' .. ARGV[4], ARGV[5], tonumber(ARGV[6])

local f = call('HMGET', state, 'run', 's' .. sid, 'hold', 'epoch', 'changes', 't' .. owner,
               'l' .. name, 'a' .. owner)
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { hold = f[3] and tonumber(f[3]), epoch = f[4], changes = f[5] or '0' }
local p = f[6] and parse_place(f[6])
if not p or p.state == 'b' then return { 0, tonumber(head.changes), '-' } end

if weight < p.weight then
  local line = parse_line(f[7], p.kind)
  call('ZREM', order, member(p, owner))
  if p.state == 'g' then line.used = line.used - p.weight + weight end
  p.weight = weight
  call('ZADD', order, 0, member(p, owner))
  call('HSET', state, 't' .. owner, place_text(p))
  if line.epoch ~= head.epoch then recount(name, line) end
  advance(name, line, owner)
  store_line(name, line)
  changed(name)
  p = parse_place(call('HGET', state, 't' .. owner))
end
return show(p, owner, f[8])
