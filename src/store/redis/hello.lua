-- hello.lua - begin on a connection: open our session, or prove that it is still there.
--
-- ARGV 4 ttl 5 longest ttl we know of 6 hold-off, should there be no data at all
--      7 no token given out so far is higher, as far as we know; 1 is "0" for a new session, and
--      "-" for one that a will is of: it is taken over to be ended, and lives no longer for that
--      8 how much history is to be kept; none, nothing: as it is  9 only if data were lost (1)
--      10 we only look (1), and have no place
-- -> { 0, epoch, on hold for, messages sent to us, longest ttl, patience, token }, no token given
--    out yet is higher; { 2 } the session is dead; { 3 } somebody who has its will was here, and
--    it is not dead yet; { 7, layout, ours, sessions, for how long the last of them lives } the
--    data are another version's, and left alone
--
-- If the server is not the one that wrote the data, what was written last may be lost.  So
-- tokens jump, and nobody is granted anything until all leases given out before have ended or
-- were put down again (mend.lua).  A client that only looks may have any ttl, and has no say in
-- how long that is: if it finds the loss, the first that locks begins another epoch.
local ttl, known, looks = tonumber(ARGV[4]), ARGV[1], ARGV[10] == '1'

local f = call('HMGET', state, 'run', 's\n' .. sid, 'hold', 'epoch', 'last', 'ttl', 'layout',
               'history', 'looked')
local layout = tonumber(f[7] or f[5] and 0 or LAYOUT)
local older = layout < LAYOUT
if layout ~= LAYOUT then
  local final = call('ZREVRANGEBYLEX', order, '(f', '[e', 'LIMIT', 0, 1)[1]
  local left = final and sub(final, 2, 17) - now or 0
  if not older or left > 0 then
    return { 7, layout, LAYOUT, call('ZLEXCOUNT', order, '[e', '(f'), left }
  end
end
if known == '-' and not f[2] then return { 2 } end
local longest = math.max(ttl, tonumber(ARGV[5]), tonumber(f[6] or '0'))
local last = tonumber(f[5] or '0')
head = { hold = f[3], epoch = f[4], history = f[8] }
if known ~= '0' then insist() end
local id, replid, before = run_id(), replication_ids()
local other = lost(f[1], id, replid, before)
if other or older or (f[9] and not looks) then
  local blank = not f[5] or f[9] == 'blank'
  local hold = blank and tonumber(ARGV[6]) or longest
  if older then -- nobody lives in it, unless data were lost; its leases we do not know
    hold = other and math.max(hold, tonumber(ARGV[6])) or 0
    head.history = nil
  end
  if older or not f[1] then -- what is left, if anything, does not fit together
    call('DEL', state, order)
    f[2] = false
    if head.history then call('HSET', state, 'history', head.history) end
  end
  if noted then
    if not head.history then call('DEL', past) end
    call('HDEL', state, 'survey') -- who surveys must look at all
    call('DEL', changes)
  end
  local looked = looks and hold > 0 and (blank and 'blank' or 'kept')
  if looks then hold = 0 end
  if on_hold() then hold = math.max(hold, math.min(hold_left(), tonumber(sub(head.hold, 18)))) end
  head.hold = fmt('%016.0f %.0f', now + hold, hold)
  head.epoch = fmt('%.0f', math.max(now, tonumber(f[4] or '0') + 1))
  call('HSET', state, 'layout', LAYOUT, 'run', id .. ':' .. replid, 'epoch', head.epoch,
       'hold', head.hold)
  call('HDEL', state, 'looked')
  if looked then call('HSET', state, 'looked', looked) end
  last = math.max(last, now)
end
if known ~= head.epoch then last = math.max(last, tonumber(ARGV[7])) end
call('HSET', state, 'last', fmt('%016.0f', last))
if (ARGV[8] or '') ~= '' and (ARGV[9] ~= '1' or (known ~= head.epoch and not head.history)) then
  keep_history(tonumber(ARGV[8]))
end

local till, connection = match(f[2] or '', '^(%d+) (%d+)$')
local alive = till and tonumber(till) > now
if known == '-' then -- its lease may be over, but who else would end all that is left of it?
  if not till then return { 2 } end
  ttl = tonumber(till) - now
elseif known ~= '0' and not alive and (known == head.epoch or not on_hold()) then
  if till then bury(sid, PIECE) end
  return { 2 }
end
if connection and tonumber(connection) > tonumber(ARGV[3]) then return { 3 } end
renew(sid, ARGV[3], till, ttl)
if known ~= '-' then
  local lease = fmt('%016.0f', ttl)
  call('HSET', state, 'u\n' .. sid, lease)
  if not looks then call('ZADD', order, 0, 'u' .. lease .. sid) end
end
longest = longest_lease()
call('HSET', state, 'ttl', longest)
longest = tonumber(longest)
-- A small sorted set of short members is kept as a list, and who looks for one walks along it:
-- a quarter of all the time of a hand-over if 16 wait.  Once it had a member of more than 64
-- bytes it is none, until it is empty or loaded anew.
local long = string.rep('x', 65)
call('ZADD', order, 0, long)
call('ZREM', order, long)
keep_time(longest)
sweep()
return { 0, head.epoch, hold_left(), tonumber(call('HGET', state, 'n\n' .. sid) or '0'),
         longest, patience(), highest_token() }
