-- history.lua - the history, in pieces.
--
-- ARGV 4 name, or "" for all 5 after this number
-- -> { 0, number of the newest entry, number of the last one examined, number, entry, ... };
--    { 6 } no history is kept
local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'grace', 'watch_store', 'history')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
if not f[5] then return { 6 } end
head = { epoch = f[1], grace = f[3], watch_store = f[4], history = f[5] }
sweep()

local length, forgotten = match(head.history, '^(%d+) (%d+)$')
length, forgotten = tonumber(length), tonumber(forgotten)
local newest = forgotten + call('LLEN', history_list)
local after = tonumber(ARGV[5])
if after > newest then after = 0 end -- the newest entries were lost
after = math.max(after, forgotten, newest - length)
local from = after - forgotten
local some = call('LRANGE', history_list, fmt('%.0f', from), fmt('%.0f', from + 499))
local ret = { 0, fmt('%.0f', newest), fmt('%.0f', after + #some) }
for i, text in ipairs(some) do
  if ARGV[4] == '' or match(text, '^%a %S+ %S+ %S+ %S+ %S+ ([^\n]*)\n') == ARGV[4] then
    ret[#ret + 1] = fmt('%.0f', after + i)
    ret[#ret + 1] = text
  end
end
return ret
