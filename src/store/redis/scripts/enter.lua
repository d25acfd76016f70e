-- enter.lua - take a place.
--
-- ARGV 4 name, then for a mutex  5 note 6 grant secret; else  5 weight 6 kind 7 how many may
--      wait (0: any number, -1: the lock must be free)  8 note 9 grant secret
-- KEYS 5 the claim, if it is one
--
-- -> as show(), or its first five parts; { 0, '-' } the place was taken away meanwhile;
--    { 0, 'r', seq, -1, 0, 0, 0, false, patience } refused: seq of a place that blocks it, 0
--    if that is another program's claim; { 4, kind } the line is of another kind; { 5 } too
--    many wait
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], last = f[3], grace = f[4], watch_store = f[7], history = f[8] }
weight = tonumber(weight)

local function refused(wait)
  local there
  for _, letter in ipairs({ 'q', 'h' }) do
    local from, to = range(letter, name)
    there = there or call('ZREVRANGEBYLEX', order, to, from, 'LIMIT', 0, 1)[1]
  end
  return { 0, 'r', there and match(there, '^[^\n]*\n(%d+)') or '0', -1, 0, 0, 0, false,
           wait or patience() }
end

-- Does another program have the claim of that name?  The call does not name its key, which rarely
-- exists: a cluster that is moving the slot would refuse the call.  It refuses this GET instead if
-- it may have moved the key already, and the lock is granted all the same.
local function claimed_by_others()
  local value = redis.pcall('GET', with_prefix('claim:' .. name))
  return type(value) == 'string' and not match(value, CLAIM)
end

local before = call('HGET', state, 't\n' .. owner)
if before then -- a repeat: the answer was lost
  local p = own_place(owner, before, KEYS[5])
  if p.state == 'b' then return { 0, '-' } end
  local line = parse_line(call('HGET', state, 'l\n' .. p.name), p.kind)
  refresh(p.name, line, owner)
  p = parse_place(call('HGET', state, 't\n' .. owner))
  return show(p, owner, call('HGET', state, 'a\n' .. owner))
end

local line = parse_line(f[5], kind)
refresh(name, line)
local granted = fits(line, line.waiting, weight)
if (line.kind ~= kind or not granted) and sweep() then -- dead sessions may have blocked it
  line = parse_line(call('HGET', state, 'l\n' .. name), kind)
  granted = fits(line, line.waiting, weight)
end
if line.kind ~= kind then return { 4, line.kind } end
if kind ~= '1c' and claimed_by_others() then return { 4, '1c' } end
if not granted then
  local most = tonumber(limit)
  if most < 0 then return refused() end
  if most > 0 and line.waiting >= most then return { 5 } end
end

local seq = fmt('%016.0f', math.max(head.last + 1, now))
if kind == '1c' then
  local left = math.ceil((tonumber(sub(f[2], 1, 16)) - now) / 1000)
  local there = call('GET', KEYS[5])
  -- No place has this claim: it was left over when the clock was set back.
  if there and not match(there, CLAIM) then return refused(claim_patience(KEYS[5])) end
  call('SET', KEYS[5], claim_value(owner, seq), 'PX', left)
end

local p = { state = granted and 'g' or 'w', seq = seq, weight = weight, slot = -1,
            since = fmt('%.0f', now), kind = kind, name = name, note = note }
if granted then
  line.used = line.used + weight
  p.slot = take_slot(name, line)
else
  line.waiting = line.waiting + 1
end
head.last = seq
call('ZADD', order, 0, member(p, owner), 0, 'o' .. owner)
call('HSET', state, 'last', seq, 't\n' .. owner, place_text(p), 'l\n' .. name, line_text(line),
     unpack(granted and {} or { 'k\n' .. owner, grant_secret }))
if f[6] then notify_watchers(name) end
if head.watch_store then head.watch_store = log_change(head.watch_store, name, seq) end
if f[8] then log_event(p, granted and 'g' or 'e') end
return show(p, owner, nil, not granted and line.epoch == head.epoch and line.waiting - 1 or nil)
