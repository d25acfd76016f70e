-- reach.lua - do something to anybody's place.
--
-- ARGV 4 break, ask or prove 5 name 6 seq 7 why    KEYS 3 the claim of that name
-- -> { 0 }; { 6 } there is no such place (prove: none that holds)
local verb, name, seq = ARGV[4], ARGV[5], ARGV[6]

local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'hold')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], hold = f[3] }
sweep()

local found
for _, letter in ipairs({ 'h', 'q' }) do
  local from = fmt('%s%s\n%s', letter, name, seq)
  found = found or call('ZRANGEBYLEX', order, '[' .. from .. ' ', '(' .. from .. '!',
                        'LIMIT', 0, 1)[1]
end
if not found or (verb == 'prove' and sub(found, 1, 1) ~= 'h') then return { 6 } end
if verb == 'prove' then return { 0 } end

local whom, id = match(found, ' (%x+):(%d+)$')
local owner = whom .. ':' .. id
if verb == 'ask' then
  call('HSET', state, 'a\n' .. owner, ARGV[7])
  tell(whom, 'a ' .. id)
  return { 0 }
end
local p = parse_place(call('HGET', state, 't\n' .. owner))
if call('GET', KEYS[3]) == owner .. ':' .. p.seq then call('DEL', KEYS[3]) end
take_out(p, owner)
p.state = 'b'
call('HSET', state, 't\n' .. owner, place_text(p))
tell(whom, 'b ' .. id)
return { 0 }
