-- hello.lua - begin a connection: open our session, or prove that it still exists.
--
-- ARGV 1 "0" for a new session; "-" with a session key: the session is taken over to be
--      ended, and its lease stays as it is
--      4 ttl 5 longest ttl of clients that lock, as far as we know; 0: we know of none
--      6 how long the grace period of the epoch in ARGV 1 has to be, say its canaries; empty: we
--      have not looked for them since it began
--      7 no token given out so far is higher, as far as we know
--      8 how many history entries to keep; empty: leave that alone  9 only if data were lost (1)
--      10 we are a read-only client (1)
--      11 the config epoch under which Sentinels named this server; empty: there are none
-- -> { 0, epoch, grace period left, messages sent to us, longest ttl, patience, token, 1 if a
--    client that locks has to look for canaries and say hello again }, and
--    no token given out so far is higher; { 2 } the session is dead; { 3 } somebody is ending
--    it by its session key; { 7, layout, ours, sessions, when the last of them ends } another
--    version of Holdfast wrote the data
--
-- If another server wrote the data, or this one before it was replaced and named again by
-- Sentinels, the latest writes may be lost.  So tokens jump, and
-- nothing is granted until every lease from before has ended or its places are reclaimed
-- (reclaim.lua): the grace period.  A read-only client may have any ttl, and must not decide
-- how long that takes.  If it is the first to find the loss, the first client that locks
-- begins another epoch.
--
-- Without any data, the namespace is new, or all of it was lost.  Only canaries tell, and a script
-- cannot see them.  So an epoch begins that grants nothing, practically for ever (`blank`).
-- A client that finds no canary after that knows that nobody had locked before; what it finds
-- counts only in that epoch.
local FOR_EVER = 2 ^ 32 -- microseconds: longer than a client takes to look
local ttl, known, read_only = tonumber(ARGV[4]), ARGV[1], ARGV[10] == '1'

local f = call('HMGET', state, 'run', 's\n' .. sid, 'grace', 'epoch', 'last', 'ttl', 'layout',
               'history', 'read_only', 'config_epoch', 'blank')
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
head = { grace = f[3], epoch = f[4], history = f[8] }
if known ~= '0' then begin_write() end
local id, replid, before = run_id(), replication_ids()
local other = may_have_lost_data(f[1], id, replid, before) or
              (ARGV[11] ~= '' and ARGV[11] ~= f[10])
local blank, begins = f[11], other or older or (f[9] and not read_only)

local function set_grace(begin, length)
  head.grace = fmt('%016.0f %.0f', begin + length, length)
  call('HSET', state, 'grace', head.grace)
end

if begins then
  local nothing = not f[5] or f[9] == 'blank' or blank
  local grace = longest
  if older then -- an older layout: no session lives in it, unless data were lost
    if not other then grace = 0 end
    head.history = nil
  end
  if older or not f[1] then -- the rest, if any, is not consistent
    call('DEL', state, order)
    f[2] = false
    if head.history then call('HSET', state, 'history', head.history) end
  end
  if has_log then
    if not head.history then call('DEL', history_list) end
    call('HDEL', state, 'watch_store') -- watchers must read all lines again
    call('DEL', changes)
  end
  local deferred = read_only and (nothing and 'blank' or grace > 0 and 'kept')
  if read_only then grace = 0 end
  if in_grace() and not blank then
    grace = math.max(grace, math.min(grace_left(), tonumber(sub(head.grace, 18))))
  end
  -- A server that was promoted, or named after another, may lack what that one had.
  local new = ARGV[5] == '0' and not match(before, '[^0]') and
              (ARGV[11] == '' or ARGV[11] == '0')
  blank = nothing and not read_only and fmt('%016.0f %.0f', now, new and 0 or grace)
  set_grace(now, blank and FOR_EVER or grace)
  head.epoch = fmt('%.0f', math.max(now, tonumber(f[4] or '0') + 1))
  call('HDEL', state, 'read_only', 'blank')
  call('HSET', state, 'layout', LAYOUT, 'run', id .. ':' .. replid, 'epoch', head.epoch)
  if ARGV[11] ~= '' then call('HSET', state, 'config_epoch', ARGV[11]) end
  if deferred then call('HSET', state, 'read_only', deferred) end
  if blank then call('HSET', state, 'blank', blank) end
  f[9] = deferred
end
local found = blank and known == head.epoch and ARGV[6] ~= ''
if found then
  set_grace(tonumber(sub(blank, 1, 16)), math.max(tonumber(ARGV[6]), tonumber(sub(blank, 18))))
  call('HDEL', state, 'blank')
  blank = false
elseif blank and not begins and ARGV[5] ~= '0' then -- others were here
  call('HSET', state, 'blank', sub(blank, 1, 17) .. fmt('%.0f', longest))
end
-- A master that was replaced gives out tokens until its clients have left it, which is
-- before the grace period ends.
if found or (begins and not blank) then last = math.max(last, grace_end()) end
if known ~= head.epoch then last = math.max(last, tonumber(ARGV[7])) end
call('HSET', state, 'last', fmt('%016.0f', last))
if (ARGV[8] or '') ~= '' and (ARGV[9] ~= '1' or (known ~= head.epoch and not head.history)) then
  keep_history(tonumber(ARGV[8]))
end

local till, connection = match(f[2] or '', '^(%d+) (%d+)$')
local alive = till and tonumber(till) > now
if known == '-' then -- even if its lease is over: others may end only a part of it
  if not till then return { 2 } end
  ttl = tonumber(till) - now
elseif known ~= '0' and not alive and (known == head.epoch or not in_grace()) then
  if till then end_session(sid, PIECE) end
  return { 2 }
end
if connection and tonumber(connection) > tonumber(ARGV[3]) then return { 3 } end
renew(sid, ARGV[3], till, ttl)
if known ~= '-' then
  local lease = fmt('%016.0f', ttl)
  call('HSET', state, 'u\n' .. sid, lease)
  if not read_only then call('ZADD', order, 0, 'u' .. lease .. sid) end
end
longest = longest_lease()
call('HSET', state, 'ttl', longest)
longest = tonumber(longest)
-- Redis stores a small sorted set of short members as a list, and searches it linearly:
-- a quarter of the time of a hand-over if 16 wait.  One member of more than 64 bytes
-- changes that, until the set is empty or reloaded.
local long = string.rep('x', 65)
call('ZADD', order, 0, long)
call('ZREM', order, long)
keep_time(longest)
sweep()
return { 0, head.epoch, grace_left(), tonumber(call('HGET', state, 'n\n' .. sid) or '0'),
         longest, patience(), highest_token(), (blank or f[9] == 'blank') and 1 or 0 }
