-- server.lua - who the server is, and its clock; follows line.lua where a script looks at them:
-- hello.lua and renew.lua.

-- Who the server is: its run id, which does not change while a connection lasts; and its
-- replication id, with the one that it had as a replica.
local function run_id() return match(call('INFO', 'server'), 'run_id:(%x+)') or '' end

local function replication_ids()
  local text = call('INFO', 'replication')
  return match(text, 'master_replid:(%x+)') or '', match(text, 'master_replid2:(%x+)') or ''
end

-- May the server that wrote `run` and this one have different data?  Another run id: it was
-- started anew, or is another one.  Another replication id: it was made a master, so it was
-- a replica before, of one that may have known less.  That id changes also when the first
-- replica comes (every backup is one), or an hour after the last one left: then there is no
-- second one.
local function lost(run, id, replid, before)
  return not run or sub(run, 1, #id) ~= id or
         (match(before, '[^0]') and sub(run, #id + 2) ~= replid)
end

-- Numbers go on from the clock: so they are higher than any before, even if those are lost.
local function keep_history(length)
  local number = head.history and match(head.history, ' (%d+)$') or fmt('%.0f', now)
  if length > 0 then
    if not head.history then call('DEL', past) end -- of one that was lost
    head.history = fmt('%d %s', length, number)
    call('HSET', state, 'history', head.history)
  elseif head.history then
    head.history = false
    call('HDEL', state, 'history')
    call('DEL', past)
  end
end

-- No token given out so far is higher, nor can one be so many microseconds later that is higher
-- by more than these: no server changes lines a million times a second.
local function highest_token()
  return fmt('%.0f', math.max(now, tonumber(call('HGET', state, 'last'))))
end

-- If the clock was set back, no hold-off and no lease lasts longer from now on than it did when
-- it began; and a hold-off that is over stays over.  `longest`: lease of those that lock.
local function keep_time(longest)
  local length = head.hold and tonumber(sub(head.hold, 18))
  if length and hold_end() <= now then
    call('HDEL', state, 'hold')
    head.hold = nil
  elseif length and hold_end() - now > length then
    head.hold = fmt('%016.0f %.0f', now + length, length)
    call('HSET', state, 'hold', head.hold)
  end
  -- A few of them; a session that lives renews its own lease.
  for _, last in ipairs(call('ZREVRANGEBYLEX', order, '(f', '[e', 'LIMIT', 0, 8)) do
    local till, whom = sub(last, 2, 17), sub(last, 18)
    if till - now <= longest then return end
    local f = call('HMGET', state, 's\n' .. whom, 'u\n' .. whom)
    local lease = tonumber(f[2] or longest)
    if till - now > lease then renew(whom, f[1] and sub(f[1], 18) or '0', till, lease) end
  end
end
