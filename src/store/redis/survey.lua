-- survey.lua - which lines have changed?
--
-- ARGV 4 up to where we have seen all: what we were answered last, or 0  5 we want no more (1)
-- -> { 0, last, patience, 1 } all may have changed; { 0, last, patience, 0, name, ... } these;
--    { 0, last, patience, 0 } none, and we are told of the next (once: "s")
local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'last', 'hold', 'survey', 'history')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], last = f[3], hold = f[4], survey = f[5], history = f[6] }
if ARGV[5] == '1' then
  forget_survey(sid)
  return { 0, head.last, 0, 0 }
end
sweep()

-- Ours alone, and what all the others have.
local text = head.survey or ''
local mark, before = match(text, '([-+?])' .. sid .. ':(%d+)')
local others = string.gsub(text, '[-+?]' .. sid .. ':%d+', '')
local unknown = not mark or mark == '?' or
                tonumber(ARGV[4]) < tonumber(before) -- that we should was answered, but not heard
local names = {}
if not unknown then
  local oldest = ARGV[4]
  for seen in string.gmatch(others, ':(%d+)') do
    if tonumber(seen) < tonumber(oldest) then oldest = seen end
  end
  call('ZREMRANGEBYSCORE', changes, '-inf', oldest) -- nobody needs them any more
  names = call('ZRANGEBYSCORE', changes, '(' .. ARGV[4], '+inf')
end
local waits = not unknown and #names == 0
set_survey(fmt('%s%s%s:%s', others, waits and '+' or '-', sid, unknown and head.last or ARGV[4]))
return { 0, head.last, patience(), unknown and 1 or 0, unpack(names) }
