-- anybody.lua - anybody's place, for those who break it, ask for it or prove it.
--
-- ARGV 4 name 5 seq    Sets found: h or q, the name, a newline, the place; nothing: none.
local name, seq = ARGV[4], ARGV[5]

local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'hold')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], hold = f[3] }
sweep()

local found = false
for _, letter in ipairs({ 'h', 'q' }) do
  local from = fmt('%s%s\n%s', letter, name, seq)
  found = found or call('ZRANGEBYLEX', order, '[' .. from .. ' ', '(' .. from .. '!',
                        'LIMIT', 0, 1)[1]
end
