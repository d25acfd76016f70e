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
    head.history = fmt('%d %s', length, number)
    call('HSET', state, 'history', head.history)
  elseif head.history then
    head.history = false
    call('HDEL', state, 'history')
    call('DEL', past)
  end
end

-- If the clock was set back, no hold-off and no lease lasts longer from now on than it did when
-- it began; and a hold-off that is over stays over.  `longest`: lease in use.
local function keep_time(longest)
  local length = head.hold and tonumber(sub(head.hold, 18))
  if length and hold_end() <= now then
    call('HDEL', state, 'hold')
    head.hold = nil
  elseif length and hold_end() - now > length then
    head.hold = fmt('%016.0f %.0f', now + length, length)
    call('HSET', state, 'hold', head.hold)
  end
  for _ = 1, 8 do -- whoever lives renews it himself
    local last = call('ZREVRANGEBYLEX', order, '(f', '[e', 'LIMIT', 0, 1)[1]
    if not last or tonumber(sub(last, 2, 17)) - now <= longest then return end
    local whom = sub(last, 18)
    local session = call('HGET', state, 's\n' .. whom)
    renew(whom, session and sub(session, 18) or '0', sub(last, 2, 17), longest)
  end
end
