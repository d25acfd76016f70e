-- watch_store.lua - which lines have changed?
--
-- ARGV 4 we know all changes up to this: `last` of the previous answer, or 0  5 stop watching (1)
-- -> { 0, last, patience, 1 } any line may have changed; { 0, last, patience, 0, name, ... } these;
--    { 0, last, patience, 0 } none: the next change sends one message, "s"
local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'last', 'grace', 'watch_store', 'history')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], last = f[3], grace = f[4], watch_store = f[5], history = f[6] }
if ARGV[5] == '1' then
  forget_watch_store(sid)
  return { 0, head.last, 0, 0 }
end
sweep()

-- Our own entry, and those of the others.
local text = head.watch_store or ''
local mark, before = match(text, '([-+?])' .. sid .. ':(%d+)')
local others = string.gsub(text, '[-+?]' .. sid .. ':%d+', '')
local unknown = not mark or mark == '?' or
                tonumber(ARGV[4]) < tonumber(before) -- an earlier answer got lost
local names = {}
if not unknown then
  local oldest = ARGV[4]
  for seen in string.gmatch(others, ':(%d+)') do
    if tonumber(seen) < tonumber(oldest) then oldest = seen end
  end
  call('ZREMRANGEBYSCORE', changes, '-inf', oldest) -- all watchers have seen these
  names = call('ZRANGEBYSCORE', changes, '(' .. ARGV[4], '+inf')
end
local waits = not unknown and #names == 0
set_watch_store(fmt('%s%s%s:%s', others, waits and '+' or '-', sid,
                    unknown and head.last or ARGV[4]))
return { 0, head.last, patience(), unknown and 1 or 0, unpack(names) }
