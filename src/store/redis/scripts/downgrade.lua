-- downgrade.lua - reduce the weight of our own place.
--
-- ARGV 4 name 5 weight
-- -> as show(); { 0, '-' } there is no such place
local owner, name, weight = ARGV[2], ARGV[4], tonumber(ARGV[5])

local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'last', 'grace', 't\n' .. owner,
               'l\n' .. name, 'a\n' .. owner)
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], last = f[3], grace = f[4] }
local p = f[5] and parse_place(f[5])
if not p or p.state == 'b' then return { 0, '-' } end

if weight < p.weight then
  local line = parse_line(f[6], p.kind)
  call('ZREM', order, member(p, owner))
  if p.state == 'g' then line.used = line.used - p.weight + weight end
  p.weight = weight
  call('ZADD', order, 0, member(p, owner))
  call('HSET', state, 't\n' .. owner, place_text(p))
  log_event(p, 'd')
  if line.epoch ~= head.epoch then recount(name, line) end
  advance(name, line, owner)
  store_line(name, line)
  changed(name, is_watched(name))
  p = parse_place(call('HGET', state, 't\n' .. owner))
end
return show(p, owner, f[7])
