-- line.lua - lines and the places in them; follows base.lua where a script changes lines.
--
-- `used` and `waiting` are kept, so no line is ever walked to find out who is granted (see fits());
-- only after data were lost they are counted again.
local head -- of the script: epoch, hold, last; survey, history, see trail(); as texts

-- Range of all members that begin with these two; no name has a control character.
local function range(letter, name)
  return '[' .. letter .. name .. '\n', '(' .. letter .. name .. '\11'
end

-- How long somebody's claim lives, who may be no user of Holdfast; nil: there is none.
local function claim_left(key)
  local ms = call('PTTL', key)
  if ms == -2 then return nil end
  return ms == -1 and 1000000 or math.max(1, ms * 1000) -- no end: one looks again
end

-- How long until it is worth to look at it again: nobody tells when it is given back.
local function claim_patience(key)
  local left = claim_left(key)
  return left and math.min(left, 200000)
end

-- Who surveys, and what history there is; read once, if the script has not done so.
local function trail()
  if not noted then
    head.survey, head.history = false, false
  elseif head.survey == nil then
    local f = call('HMGET', state, 'survey', 'history')
    head.survey, head.history = f[1], f[2]
  end
  return head
end

-- Something has happened to a place, by what it is at present.
local function event(p, what, why)
  if not trail().history then return end
  head.history = note_event(head.history, fmt('%s %s %.0f %d %.0f %s %s\n', what, p.seq, p.weight,
                                              p.slot, now, p.kind, p.name) .. p.note ..
                                          (why and '\0' .. why or ''))
end

local function set_survey(text)
  if not head.survey then call('DEL', changes) end -- of one that was lost
  head.survey = text ~= '' and text
  if head.survey then
    call('HSET', state, 'survey', text)
  else
    call('HDEL', state, 'survey')
    call('DEL', changes)
  end
end

local function forget_survey(whom)
  if trail().survey and string.find(head.survey, whom, 1, true) then
    set_survey((string.gsub(head.survey, '[-+?]' .. whom .. ':%d+', '')))
  end
end

local function tell_watchers(name)
  local from, to = range('w', name)
  for _, member in ipairs(call('ZRANGEBYLEX', order, from, to)) do
    local whom = sub(member, #name + 3)
    tell(whom, 'c ' .. name)
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

-- The member of the place with that seq: h or q, the name, a newline, the place; nil: none.
local function find_place(name, seq)
  local found
  for _, letter in ipairs({ 'h', 'q' }) do
    local from = fmt('%s%s\n%s', letter, name, seq)
    found = found or call('ZRANGEBYLEX', order, '[' .. from .. ' ', '(' .. from .. '!',
                          'LIMIT', 0, 1)[1]
  end
  return found
end

local function hold_end() return tonumber(sub(head.hold, 1, 16)) end

local function on_hold() return head.hold and hold_end() > now end

local function hold_left() return on_hold() and hold_end() - now or 0 end

-- What is written while nobody may be granted anything is of no epoch: those who come back
-- may have places in the line that are not counted yet.
local function epoch_now() return on_hold() and '0' or head.epoch end

local function parse_line(text, kind)
  if not text then
    return { kind = kind, used = 0, waiting = 0, slots = 0, epoch = epoch_now() }
  end
  local k, used, waiting, slots, epoch = match(text, '^(%S+) (%d+) (%d+) (%d+) (%d+)$')
  return { kind = k, used = tonumber(used), waiting = tonumber(waiting),
           slots = tonumber(slots), epoch = epoch }
end

local function capacity(line) return tonumber(match(line.kind, '^%d+')) end

-- The rule: a place is granted if nobody waits ahead of it and it fits beside those who hold; and if
-- anybody may be granted anything.  enter_quick.lua and leave_quick.lua decide two cases by the same
-- rule, without calling this: a line that nobody is in, and a mutex.  test/redis/scripts_quick.py
-- compares them with this.
local function fits(line, ahead, weight)
  return ahead == 0 and line.used + weight <= capacity(line) and not on_hold()
end

local function has_slots(line)
  return line.kind ~= '1' and line.kind ~= '1c' and line.kind ~= '4294967295'
end

-- The lowest slot that is free.
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

-- The two keys do not fit together: somebody deleted one.  Whoever comes next finds the data
-- to be nobody's, and all is put down again as after any loss.
local function lose() call('HDEL', state, 'run', 'epoch') end

local PIECE = 200 -- places that one call ends, and as many that it grants

-- Grant those who wait, in order, while they fit.  `me`: who need not be told.  There may be very
-- many, and nobody else is served meanwhile: then the line is marked, and the next call that
-- sweeps goes on.  Those that are granted here call soon, to read; and everybody renews.
local left_to_grant, unfinished = PIECE, false
local function advance(name, line, me)
  local from, to = range('q', name)
  if on_hold() then line.epoch = '0' end -- refresh() goes on when that is over
  if line.waiting == 0 or on_hold() then return end
  if call('ZLEXCOUNT', order, from, to) ~= line.waiting then -- somebody would be passed over
    lose()
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
    if head.history ~= false then event(p, 'g') end
    if owner ~= me then tell(whom, fmt('g %s %d %s %s', id, p.slot, p.since, f[2] or '')) end
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

-- Slots in use are those of the holders; all others below the highest are free.
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

-- A line last written before data were lost, or before all was put right again.
local function recount(name, line)
  local holders = call('ZRANGEBYLEX', order, range('h', name))
  line.used, line.waiting = 0, call('ZLEXCOUNT', order, range('q', name))
  for _, m in ipairs(holders) do
    line.used = line.used + tonumber(match(m, '^[^\n]*\n%d+ (%d+) '))
  end
  if has_slots(line) then recount_slots(name, line, holders) end
  line.epoch = epoch_now()
end

-- Somebody came, left or was granted.
local function changed(name, watched)
  head.last = fmt('%016.0f', call('HINCRBY', state, 'last', 1))
  if watched then tell_watchers(name) end
  if trail().survey then head.survey = note_change(head.survey, name, head.last) end
end

local function is_watched(name) return call('HEXISTS', state, 'w\n' .. name) == 1 end

-- Go on in lines that are marked.  True if there were any.
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

-- Bring such a line up to date, as soon as that is possible.
local function refresh(name, line, me)
  if line.epoch == head.epoch or on_hold() then return end
  recount(name, line)
  advance(name, line, me)
  store_line(name, line)
  changed(name, is_watched(name))
end

-- Take a place out of its line and grant what then fits.  Its record stays, but if it is
-- `gone` its index goes, too.  `text` and `watched`: the fields of the line.  `what` happens to
-- it, if it holds: r, x or b, as holdfast's store.h has it; who waits has left in any case.
local function part(p, owner, what, gone, text, watched, why)
  local line = parse_line(text, p.kind)
  if gone then
    call('ZREM', order, member(p, owner), 'o' .. owner)
  else
    call('ZREM', order, member(p, owner))
  end
  if head.history ~= false then event(p, p.state == 'g' and what or 'l', why) end
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

-- The same where those fields were not read.
local function take_out(p, owner, what, why)
  part(p, owner, what, false, call('HGET', state, 'l\n' .. p.name), is_watched(p.name), why)
end

-- Nothing of a place is to be kept.
local function forget(owner)
  call('HDEL', state, 't\n' .. owner, 'a\n' .. owner, 'k\n' .. owner)
end

-- Of the sessions that lock: how long the longest lease is, sixteen digits; and whose it is.
local function longest_lease()
  local last = call('ZREVRANGEBYLEX', order, '(v', '[u', 'LIMIT', 0, 1)[1]
  if not last then return '0' end
  return sub(last, 2, 17), sub(last, 18)
end

-- As they are in the sorted set, `most` at once.
local function places_of(whom, most)
  return call('ZRANGEBYLEX', order, '[o' .. whom .. ':', '(o' .. whom .. ';', 'LIMIT', 0, most)
end

-- End a session whose time is up and all it has, `most` places at once: one may have very
-- many, and nobody else is served meanwhile.  How many places there were; if as many as that,
-- there is something left of it.  `what`: r if its owner wants it so; else its holds are lost.
local function bury(whom, most, what)
  local some = places_of(whom, most)
  for _, index in ipairs(some) do
    local owner = sub(index, 2)
    local text = call('HGET', state, 't\n' .. owner)
    if text and sub(text, 1, 1) ~= 'b' then take_out(parse_place(text), owner, what or 'x') end
    forget(owner)
    call('ZREM', order, index)
  end
  if #some == most then return most end
  forget_watches(whom)
  forget_survey(whom)
  local f = call('HMGET', state, 's\n' .. whom, 'u\n' .. whom, 'ttl')
  if f[1] then call('ZREM', order, 'e' .. sub(f[1], 1, 16) .. whom) end
  call('HDEL', state, 's\n' .. whom, 'n\n' .. whom, 'u\n' .. whom)
  if f[2] and call('ZREM', order, 'u' .. f[2] .. whom) == 1 and f[2] == f[3] then
    call('HSET', state, 'ttl', (longest_lease()))
  end
  return #some
end

-- When the next session ends, if nobody renews it; and whose it is.  A number and a text.
local soonest
local function next_end()
  local first = call('ZRANGEBYLEX', order, '[e', '(f', 'LIMIT', 0, 1)[1]
  soonest = first and tonumber(sub(first, 2, 17))
  return soonest, first and sub(first, 18)
end

-- End sessions whose time is up, a few at a time.  True if lines may have changed.
local function sweep()
  local left, any = PIECE, grant_more()
  for i = 1, 8 do
    local till, whom = next_end()
    if not till or till > now then return any or i > 1 end
    left = left - bury(whom, left)
    if left == 0 then break end
    call('ZREM', order, fmt('e%016.0f', till) .. whom)
  end
  next_end()
  return true
end

local function renew(whom, connection, old, ttl)
  local till = fmt('%016.0f', now + ttl)
  if old and call('ZREM', order, 'e' .. old .. whom) == 0 then lose() end
  call('ZADD', order, 0, 'e' .. till .. whom)
  call('HSET', state, 's\n' .. whom, till .. ' ' .. connection)
end

-- How long until it is worth to look again: a session may end, or the hold-off.
local function patience()
  if unfinished then return 1 end
  local till = soonest or next_end()
  if on_hold() and (not till or hold_end() < till) then till = hold_end() end
  return till and math.max(1, till - now) or 0
end

-- A place as its owner sees it:
--   { 0, state, seq, slot, since, weight, ahead, asked, patience }
-- `ahead` is told of one that waits.  `waiting`: how many wait ahead of it, if that is known.
local function show(p, owner, asked, waiting)
  local ahead, wait = 0, 0
  if p.state == 'w' then
    waiting = waiting or call('ZLEXCOUNT', order, range('q', p.name), '(' .. member(p, owner))
    ahead = waiting + call('ZLEXCOUNT', order, range('h', p.name))
    wait = patience()
  end
  return { 0, p.state, p.seq, p.slot, p.since, p.weight, ahead, asked or false, wait }
end
