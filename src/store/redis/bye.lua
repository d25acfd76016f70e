-- bye.lua - end our session and all it has.
--
-- KEYS 3 ... our claims, ARGV 4 ... their ids and seqs
-- -> { 0 }; { 0, 1 } a piece of it: say it again.  Who does not is dead soon, and what is left
--    of it is for others to end.
local SOON = 100000
local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'hold')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], hold = f[3] }
for i = 3, #KEYS do
  if call('GET', KEYS[i]) == sid .. ':' .. ARGV[2 * i - 2] .. ':' .. ARGV[2 * i - 1] then
    call('DEL', KEYS[i])
  end
end
renew(sid, ARGV[3], sub(f[2], 1, 16), SOON)
if bury(sid, PIECE) == PIECE then return { 0, 1 } end
return { 0 }
