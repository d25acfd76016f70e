-- bye.lua - end our session and all it has.
--
-- KEYS 3 ... our claims, ARGV 4 ... their ids and seqs
local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'hold')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], hold = f[3] }
for i = 3, #KEYS do
  if call('GET', KEYS[i]) == sid .. ':' .. ARGV[2 * i - 2] .. ':' .. ARGV[2 * i - 1] then
    call('DEL', KEYS[i])
  end
end
renew(sid, ARGV[3], sub(f[2], 1, 16), 0) -- whatever is left of it is for others to end
bury(sid, PIECE)
return { 0 }
