-- line.lua - lines and the places in them.
--
-- Each line keeps its totals `used` and `waiting`, so nobody has to walk it to decide a
-- grant (see fits()).  They are recounted only after data were lost.
local head -- fields epoch, grace, last, watch_store and history, as far as the script read them

-- The range of all members that begin so; no name contains a control character.
local function range(letter, name)
  return '[' .. letter .. name .. '\n', '(' .. letter .. name .. '\11'
end

-- How long a claim lives, be it another program's; nil: there is none.
local function claim_left(key)
  local ms = call('PTTL', key)
  if ms == -2 then return nil end
  return ms == -1 and 1000000 or math.max(1, ms * 1000) -- no expiry: check again in a second
end

-- When to check another program's claim again: its release sends no message.
local function claim_patience(key)
  local left = claim_left(key)
  return left and math.min(left, 200000)
end

-- The fields watch_store and history, unless the script has read them already.
local function log_fields()
  if not has_log then
    head.watch_store, head.history = false, false
  elseif head.watch_store == nil then
    local f = call('HMGET', state, 'watch_store', 'history')
    head.watch_store, head.history = f[1], f[2]
  end
  return head
end

-- Something has happened to a place.
local function log_event(p, what, why)
  if not log_fields().history then return end
  local text = fmt('%s %s %.0f %d %.0f %s %s\n', what, p.seq, p.weight, p.slot, now, p.kind,
                   p.name)
  head.history = append_history(head.history, text .. p.note .. (why and '\0' .. why or ''))
end

local function set_watch_store(text)
  if not head.watch_store then call('DEL', changes) end -- left over from lost data
  head.watch_store = text ~= '' and text
  if head.watch_store then
    call('HSET', state, 'watch_store', text)
  else
    call('HDEL', state, 'watch_store')
    call('DEL', changes)
  end
end

local function forget_watch_store(whom)
  if log_fields().watch_store and string.find(head.watch_store, whom, 1, true) then
    set_watch_store((string.gsub(head.watch_store, '[-+?]' .. whom .. ':%d+', '')))
  end
end

local function notify_watchers(name)
  local from, to = range('w', name)
  for _, member in ipairs(call('ZRANGEBYLEX', order, from, to)) do
    local whom = sub(member, #name + 3)
    send_message(whom, 'c ' .. name)
    call('ZREM', order, 'v' .. whom .. '\n' .. name)
  end
  call('ZREMRANGEBYLEX', order, from, to)
  call('HDEL', state, 'w\n' .. name)
end

local function forget_watches(whom)
  local from, to = range('v', whom)
  for _, member in ipairs(call('ZRANGEBYLEX', order, from, to)) do
    local name = sub(member, #whom + 3)
    call('ZREM', order, member, 'w' .. name .. '\n' .. whom)
    if call('ZLEXCOUNT', order, range('w', name)) == 0 then
      call('HDEL', state, 'w\n' .. name)
    end
  end
end

-- The member h... or q... of the place with that seq; nil: there is none.
local function find_place(name, seq)
  local found
  for _, letter in ipairs({ 'h', 'q' }) do
    local from = fmt('%s%s\n%s', letter, name, seq)
    found = found or call('ZRANGEBYLEX', order, '[' .. from .. ' ', '(' .. from .. '!',
                          'LIMIT', 0, 1)[1]
  end
  return found
end

local function grace_end() return tonumber(sub(head.grace, 1, 16)) end

local function in_grace() return head.grace and grace_end() > now end

local function grace_left() return in_grace() and grace_end() - now or 0 end

-- A line that is written during the grace period belongs to no epoch: reclaimed places
-- may not be counted yet.
local function epoch_now() return in_grace() and '0' or head.epoch end

local function parse_line(text, kind)
  if not text then
    return { kind = kind, used = 0, waiting = 0, slots = 0, epoch = epoch_now() }
  end
  local k, used, waiting, slots, epoch = match(text, '^(%S+) (%d+) (%d+) (%d+) (%d+)$')
  return { kind = k, used = tonumber(used), waiting = tonumber(waiting),
           slots = tonumber(slots), epoch = epoch }
end

local function capacity(line) return tonumber(match(line.kind, '^%d+')) end

-- The rule: a place is granted if nobody waits ahead of it, it fits beside the holders,
-- and it is not the grace period.  enter_quick.lua and leave_quick.lua decide two cases
-- by the same rule without calling this: an empty line, and a mutex.
-- test/redis/scripts_quick.py compares them with this.
local function fits(line, ahead, weight)
  return ahead == 0 and line.used + weight <= capacity(line) and not in_grace()
end

local function has_slots(line)
  return line.kind ~= '1' and line.kind ~= '1c' and line.kind ~= '4294967295'
end

-- The lowest free slot.
local function take_slot(name, line)
  if not has_slots(line) then return -1 end
  local from, to = range('f', name)
  local free = call('ZRANGEBYLEX', order, from, to, 'LIMIT', 0, 1)[1]
  if free then
    call('ZREM', order, free)
    return tonumber(sub(free, #name + 3))
  end
  line.slots = line.slots + 1
  return line.slots - 1
end

local function give_slot(name, slot)
  if slot >= 0 then call('ZADD', order, 0, fmt('f%s\n%010d', name, slot)) end
end

-- The two keys contradict each other: somebody deleted one.  The next client starts a
-- new epoch, and all places are reclaimed as after any loss.
local function mark_lost() call('HDEL', state, 'run', 'epoch') end

local PIECE = 200 -- places that one call may end, and that one call may grant

-- Grant waiters, in order, as long as they fit.  `me` needs no message.  There may be
-- very many, and the server is blocked meanwhile.  So after a piece the line is marked,
-- and the next call that sweeps goes on: the waiters granted here will read their
-- places soon, and every session renews.
local left_to_grant, unfinished = PIECE, false
local function advance(name, line, me)
  local from, to = range('q', name)
  if in_grace() then line.epoch = '0' end -- refresh() goes on after the grace period
  if line.waiting == 0 or in_grace() then return end
  if call('ZLEXCOUNT', order, from, to) ~= line.waiting then -- a waiter would be passed over
    mark_lost()
    return
  end
  while line.waiting > 0 do
    local first = call('ZRANGEBYLEX', order, from, to, 'LIMIT', 0, 1)[1]
    local weight, whom, id = match(first, '^[^\n]*\n%d+ (%d+) (%x+):(%d+)$')
    local owner = whom .. ':' .. id
    if not fits(line, 0, tonumber(weight)) then break end
    if left_to_grant == 0 then
      call('ZADD', order, 0, 'p' .. name)
      unfinished = true
      break
    end
    left_to_grant = left_to_grant - 1
    local f = call('HMGET', state, 't\n' .. owner, 'k\n' .. owner)
    local p = parse_place(f[1])
    call('ZREM', order, first)
    p.state, p.slot, p.since = 'g', take_slot(name, line), fmt('%.0f', now)
    call('ZADD', order, 0, member(p, owner))
    call('HSET', state, 't\n' .. owner, place_text(p))
    line.used, line.waiting = line.used + p.weight, line.waiting - 1
    if head.history ~= false then log_event(p, 'g') end
    if owner ~= me then
      send_message(whom, fmt('g %s %d %s %s', id, p.slot, p.since, f[2] or ''))
    end
  end
end

local function store_line(name, line)
  if line.used == 0 and line.waiting == 0 then
    call('HDEL', state, 'l\n' .. name)
    if line.slots > 0 then call('ZREMRANGEBYLEX', order, range('f', name)) end
  else
    call('HSET', state, 'l\n' .. name, line_text(line))
  end
end

-- Slots below the highest in use that no holder has are free.
local function recount_slots(name, line, holders)
  local used = {}
  call('ZREMRANGEBYLEX', order, range('f', name))
  line.slots = 0
  for _, m in ipairs(holders) do
    local p = parse_place(call('HGET', state, 't\n' .. match(m, '(%x+:%d+)$')))
    used[p.slot] = true
    if p.slot >= line.slots then line.slots = p.slot + 1 end
  end
  for slot = 0, line.slots - 1 do
    if not used[slot] then give_slot(name, slot) end
  end
end

-- Count a line that was last written in an older epoch, or during the grace period.
local function recount(name, line)
  local holders = call('ZRANGEBYLEX', order, range('h', name))
  line.used, line.waiting = 0, call('ZLEXCOUNT', order, range('q', name))
  for _, m in ipairs(holders) do
    line.used = line.used + tonumber(match(m, '^[^\n]*\n%d+ (%d+) '))
  end
  if has_slots(line) then recount_slots(name, line, holders) end
  line.epoch = epoch_now()
end

-- A place came, left or was granted.
local function changed(name, watched)
  head.last = fmt('%016.0f', call('HINCRBY', state, 'last', 1))
  if watched then notify_watchers(name) end
  if log_fields().watch_store then
    head.watch_store = log_change(head.watch_store, name, head.last)
  end
end

local function is_watched(name) return call('HEXISTS', state, 'w\n' .. name) == 1 end

-- Go on granting in marked lines.  True: there were any.
local function grant_more()
  local any = false
  while left_to_grant > 0 do
    local first = call('ZRANGEBYLEX', order, '[p', '(q', 'LIMIT', 0, 1)[1]
    if not first then return any end
    any = true
    local name = sub(first, 2)
    local text = call('HGET', state, 'l\n' .. name)
    local line = text and parse_line(text)
    call('ZREM', order, first)
    if line and line.epoch == head.epoch then -- else refresh() does it
      local waiting = line.waiting
      advance(name, line)
      store_line(name, line)
      if line.waiting < waiting then changed(name, is_watched(name)) end
    end
  end
  return any
end

-- Bring a line of an older epoch up to date, once the grace period is over.
local function refresh(name, line, me)
  if line.epoch == head.epoch or in_grace() then return end
  recount(name, line)
  advance(name, line, me)
  store_line(name, line)
  changed(name, is_watched(name))
end

-- Take a place out of its line and grant what fits then.  Its field t_ stays.  `gone`:
-- remove its member o, too.  `text` and `watched`: the fields of the line.  `what`
-- happens to a holder: r, x or b, see store.h; a waiter just leaves.
local function remove_place(p, owner, what, gone, text, watched, why)
  local line = parse_line(text, p.kind)
  if gone then
    call('ZREM', order, member(p, owner), 'o' .. owner)
  else
    call('ZREM', order, member(p, owner))
  end
  if head.history ~= false then log_event(p, p.state == 'g' and what or 'l', why) end
  if line.epoch ~= head.epoch then
    recount(p.name, line)
  elseif p.state == 'g' then
    line.used = math.max(0, line.used - p.weight)
    give_slot(p.name, p.slot)
  else
    line.waiting = math.max(0, line.waiting - 1)
  end
  advance(p.name, line)
  store_line(p.name, line)
  changed(p.name, watched)
end

-- The same, reading those fields first.
local function take_out_place(p, owner, what, why)
  remove_place(p, owner, what, false, call('HGET', state, 'l\n' .. p.name), is_watched(p.name), why)
end

-- Take a place away from its owner, whose LEAVE will learn it from what stays.
local function take_away(p, owner, why)
  take_out_place(p, owner, 'b', why)
  p.state = 'b'
  call('HSET', state, 't\n' .. owner, place_text(p))
end

-- Is the key of a claim no longer ours?  It was deleted, or has expired, or another program has it.
local function claim_is_gone(p, owner, key)
  return p.kind == '1c' and p.state == 'g' and call('GET', key) ~= claim_value(owner, p.seq)
end

-- Our own place; `text`: its field, `key`: the claim, if it is one.  A claim counts as ours only as
-- long as its key does, so every script that answers for our own place parses it by this.
local function own_place(owner, text, key)
  local p = parse_place(text)
  if claim_is_gone(p, owner, key) then take_away(p, owner) end
  return p
end

-- Delete all fields of a place.
local function delete_place(owner)
  call('HDEL', state, 't\n' .. owner, 'a\n' .. owner, 'k\n' .. owner)
end

-- The longest lease of the sessions that lock, sixteen digits; and which session has it.
local function longest_lease()
  local last = call('ZREVRANGEBYLEX', order, '(v', '[u', 'LIMIT', 0, 1)[1]
  if not last then return '0' end
  return sub(last, 2, 17), sub(last, 18)
end

-- Up to `most` members o of a session.
local function places_of(whom, most)
  return call('ZRANGEBYLEX', order, '[o' .. whom .. ':', '(o' .. whom .. ';', 'LIMIT', 0, most)
end

-- End a session and up to `most` of its places: there may be very many, and the server
-- is blocked meanwhile.  Returns how many places there were; if it is `most`, there is
-- more to end.  `what`: r if the owner releases them; default: they are lost.
local function end_session(whom, most, what)
  local some = places_of(whom, most)
  for _, index in ipairs(some) do
    local owner = sub(index, 2)
    local text = call('HGET', state, 't\n' .. owner)
    if text and sub(text, 1, 1) ~= 'b' then
      take_out_place(parse_place(text), owner, what or 'x')
    end
    delete_place(owner)
    call('ZREM', order, index)
  end
  if #some == most then return most end
  forget_watches(whom)
  forget_watch_store(whom)
  local f = call('HMGET', state, 's\n' .. whom, 'u\n' .. whom, 'ttl')
  if f[1] then call('ZREM', order, 'e' .. sub(f[1], 1, 16) .. whom) end
  call('HDEL', state, 's\n' .. whom, 'n\n' .. whom, 'u\n' .. whom)
  if f[2] and call('ZREM', order, 'u' .. f[2] .. whom) == 1 and f[2] == f[3] then
    call('HSET', state, 'ttl', (longest_lease()))
  end
  return #some
end

-- When the next session ends unless it is renewed, as a number; and its sid.
local soonest
local function next_end()
  local first = call('ZRANGEBYLEX', order, '[e', '(f', 'LIMIT', 0, 1)[1]
  soonest = first and tonumber(sub(first, 2, 17))
  return soonest, first and sub(first, 18)
end

-- End sessions whose lease is over, a few at a time.  True: lines may have changed.
local function sweep()
  local left, any = PIECE, grant_more()
  for i = 1, 8 do
    local till, whom = next_end()
    if not till or till > now then return any or i > 1 end
    left = left - end_session(whom, left)
    if left == 0 then break end
    call('ZREM', order, fmt('e%016.0f', till) .. whom)
  end
  next_end()
  return true
end

local function renew(whom, connection, old, ttl)
  local till = fmt('%016.0f', now + ttl)
  if old and call('ZREM', order, 'e' .. old .. whom) == 0 then mark_lost() end
  call('ZADD', order, 0, 'e' .. till .. whom)
  call('HSET', state, 's\n' .. whom, till .. ' ' .. connection)
end

-- How long until a session or the grace period ends: then it is worth reading again.
local function patience()
  if unfinished then return 1 end
  local till = soonest or next_end()
  if in_grace() and (not till or grace_end() < till) then till = grace_end() end
  return till and math.max(1, till - now) or 0
end

-- A place as its owner sees it:
--   { 0, state, seq, slot, since, weight, ahead, asked, patience }
-- `ahead` is only counted for a waiter.  `waiting`: how many wait ahead of it, if that
-- is known.
local function show(p, owner, asked, waiting)
  local ahead, wait = 0, 0
  if p.state == 'w' then
    waiting = waiting or call('ZLEXCOUNT', order, range('q', p.name), '(' .. member(p, owner))
    ahead = waiting + call('ZLEXCOUNT', order, range('h', p.name))
    wait = patience()
  end
  return { 0, p.state, p.seq, p.slot, p.since, p.weight, ahead, asked or false, wait }
end
