-- enter.lua - take a place.
--
-- ARGV 4 id 5 name 6 weight 7 kind 8 only if free (1) 9 most that may wait 10 note
-- KEYS 3 the claim, if it is one
--
-- -> as show(); { 0, changes, 'r', what is in the way, patience } refused;
--    { 4, kind } those there are of another kind; { 5 } too many wait
head = { last = tonumber(f[3]), hold = f[4] and tonumber(f[4]), epoch = f[5],
         changes = f[6] or '0' }

local function refused(wait)
  local nearest
  for _, letter in ipairs({ 'q', 'h' }) do
    local from, to = range(letter, name)
    nearest = nearest or call('ZREVRANGEBYLEX', order, to, from, 'LIMIT', 0, 1)[1]
  end
  return { 0, tonumber(head.changes), 'r', nearest and match(nearest, '^[^\n]*\n(%d+)') or '0',
           wait or patience() }
end

if f[7] then -- asked before; the answer was lost
  local p = parse_place(f[7])
  if p.state == 'b' then return refused() end
  local line = parse_line(call('HGET', state, 'l' .. p.name), p.kind)
  refresh(p.name, line, owner)
  p = parse_place(call('HGET', state, 't' .. owner))
  return show(p, owner, call('HGET', state, 'a' .. owner))
end

local line = parse_line(f[8], kind)
refresh(name, line)
local function fits()
  return line.waiting == 0 and line.used + weight <= capacity(line) and not on_hold()
end
if line.kind ~= kind or not fits() then
  if sweep() then -- it may have been in the way of the dead
    line = parse_line(call('HGET', state, 'l' .. name), kind)
    head.changes = call('HGET', state, 'changes') or '0'
  end
end
if line.kind ~= kind then return { 4, line.kind } end
local granted = fits()
if not granted then
  if ARGV[8] == '1' then return refused() end
  if tonumber(ARGV[9]) > 0 and line.waiting >= tonumber(ARGV[9]) then return { 5 } end
end

local seq = fmt('%016.0f', math.max(head.last + 1, now))
if kind == '1c' then
  local left = math.ceil((tonumber(match(f[2], ' (%d+)$')) - now) / 1000)
  if not call('SET', KEYS[3], owner .. ':' .. seq, 'NX', 'PX', left) then
    return refused(claim_left(KEYS[3]) or 1)
  end
end

local p = { state = granted and 'g' or 'w', seq = seq, weight = weight, slot = -1,
            since = fmt('%.0f', now), kind = kind, name = name, note = ARGV[10] }
if granted then
  line.used = line.used + weight
  p.slot = take_slot(name, line)
else
  line.waiting = line.waiting + 1
end
head.changes = fmt('%d', tonumber(head.changes) + 1)
call('ZADD', order, 0, member(p, owner), 0, 'o' .. owner)
call('HSET', state, 'last', seq, 'changes', head.changes, 't' .. owner, place_text(p),
     'l' .. name, line_text(line))
if f[9] then tell_watchers(name) end
return show(p, owner)
