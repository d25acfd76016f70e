-- bye.lua - end our session and all it has.
--
-- KEYS 3 ... our claims, ARGV 4 ... their ids and seqs
local f = call('HMGET', state, 'run', 's' .. sid, 'hold', 'epoch')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { hold = f[3] and tonumber(f[3]), epoch = f[4] }
for i = 3, #KEYS do
  if call('GET', KEYS[i]) == sid .. ':' .. ARGV[2 * i - 2] .. ':' .. ARGV[2 * i - 1] then
    call('DEL', KEYS[i])
  end
end
bury(sid)
return { 0 }
