-- leave_alone.lua - give a place up where nobody else is; else leave.lua follows.
local owner, name = sid .. ':' .. ARGV[4], ARGV[5]

local f = call('HMGET', state, 'run', 's' .. sid, 'hold', 'epoch', 't' .. owner, 'l' .. name,
               'w' .. name)
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
if not f[5] then return { 0, 0 } end

local p = parse_place(f[5])
if KEYS[3] and call('GET', KEYS[3]) == owner .. ':' .. p.seq then call('DEL', KEYS[3]) end
if p.state == 'b' then return { 0, 1 } end -- as often as it is asked

local alone = { kind = p.kind, used = p.weight, waiting = 0, slots = 0, epoch = f[4] }
if p.state == 'g' and f[6] == line_text(alone) and not f[7] then
  call('ZREM', order, member(p, owner), 'o' .. owner)
  call('HDEL', state, 't' .. owner, 'a' .. owner, 'l' .. name)
  call('HINCRBY', state, 'changes', 1)
  return { 0, 0 }
end
