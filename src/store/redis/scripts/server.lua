-- server.lua - which server this is, and its clock, for hello.lua and renew.lua.

-- The server's identity: its run id, which cannot change while a connection lasts; its
-- replication id, and the one that it had before as a replica.
local function run_id() return match(call('INFO', 'server'), 'run_id:(%x+)') or '' end

local function replication_ids()
  local text = call('INFO', 'replication')
  return match(text, 'master_replid:(%x+)') or '', match(text, 'master_replid2:(%x+)') or ''
end

-- May this server lack data that the server named in `run` had?  Another run id: it was
-- restarted, or it is another server.  Another replication id: it is a promoted
-- replica, which may have missed the latest writes.  That id also changes when the
-- first replica connects (every backup is one), and an hour after the last one left;
-- but then there is no previous id.
local function may_have_lost_data(run, id, replid, before)
  return not run or sub(run, 1, #id) ~= id or
         (match(before, '[^0]') and sub(run, #id + 2) ~= replid)
end

-- Numbers start from the clock, so they are higher than any before, even if those are
-- lost.
local function keep_history(length)
  local number = head.history and match(head.history, ' (%d+)$') or fmt('%.0f', now)
  if length > 0 then
    if not head.history then call('DEL', history_list) end -- left over from lost data
    head.history = fmt('%d %s', length, number)
    call('HSET', state, 'history', head.history)
  elseif head.history then
    head.history = false
    call('HDEL', state, 'history')
    call('DEL', history_list)
  end
end

-- No token given out so far is higher.  After n microseconds, none will be higher by
-- more than n: no server changes lines a million times a second.
local function highest_token()
  return fmt('%.0f', math.max(now, tonumber(call('HGET', state, 'last'))))
end

-- If the clock was set back, limit the grace period and leases to their original length
-- from now on; and a grace period that is over stays over.  `longest`: the longest
-- lease of sessions that lock.
local function keep_time(longest)
  local length = head.grace and tonumber(sub(head.grace, 18))
  if length and grace_end() <= now then
    call('HDEL', state, 'grace')
    head.grace = nil
  elseif length and grace_end() - now > length then
    head.grace = fmt('%016.0f %.0f', now + length, length)
    call('HSET', state, 'grace', head.grace)
  end
  -- A few at a time; a live session renews its own lease.
  for _, last in ipairs(call('ZREVRANGEBYLEX', order, '(f', '[e', 'LIMIT', 0, 8)) do
    local till, whom = sub(last, 2, 17), sub(last, 18)
    if till - now <= longest then return end
    local f = call('HMGET', state, 's\n' .. whom, 'u\n' .. whom)
    local lease = tonumber(f[2] or longest)
    if till - now > lease then renew(whom, f[1] and sub(f[1], 18) or '0', till, lease) end
  end
end
