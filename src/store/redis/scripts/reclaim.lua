-- reclaim.lua - after data were lost: restore our session's places as we know them.
--
-- In pieces: the places between two ids, in the order of the ids as texts.
--
-- ARGV 4, 5  the ids: after the first, up to the second; "": no such limit
--      6 ... for each place: id, state, seq, weight, slot, since, kind, name, note, grant
--            secret; seq 0 if its ENTER was never answered
-- KEYS 5 ... the claims among the holders, in the same order
-- -> { 0, places restored, places deleted }, followed by 1 if there may be more to delete:
--    send the same piece again; { 2 } too late
local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'grace')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], grace = f[3] }
if not in_grace() then return { 2 } end
begin_write()

local left = math.ceil((tonumber(sub(f[2], 1, 16)) - now) / 1000)
local mine, claims, back, away = {}, 4, 0, 0

-- The value of k_ for a holder that has come back.
local BACK = 'back ' .. head.epoch

-- The weight of those that have come back to this line, but for one place.
local function weight_back(name, but)
  local sum = 0
  for _, m in ipairs(call('ZRANGEBYLEX', order, range('h', name))) do
    local weight, owner = match(m, '^[^\n]*\n%d+ (%d+) (%x+:%d+)$')
    if owner ~= but and call('HGET', state, 'k\n' .. owner) == BACK then sum = sum + weight end
  end
  return sum
end

-- Two clients can believe that they hold the same lock: the server forgot that it had taken it
-- from one of them, before that one heard of it.  The first to come back keeps it.  In the grace
-- period line.used may be too high: then only those that have come back are counted.
local function may_come_back(p, owner, line)
  local free = capacity(p) - p.weight
  if line.used > free then line.used = weight_back(p.name, owner) end
  return line.used <= free
end

-- Without data, nothing kept a client from asking for another kind before we came back.  A place
-- of before the loss wins, unless a holder of the other kind has come back; waiters ask again.
local function is_of_other_kind(p, owner, line)
  if line.kind == p.kind then return false end
  if weight_back(p.name, owner) > 0 then return true end
  for _, m in ipairs(call('ZRANGEBYLEX', order, range('q', p.name))) do
    local other = match(m, '(%x+:%d+)$')
    local waiter = parse_place(call('HGET', state, 't\n' .. other))
    if other ~= owner and waiter.kind ~= p.kind then
      take_away(waiter, other)
      send_message(sub(other, 1, 16), 'b ' .. sub(other, 18))
    end
  end
  line.kind, line.used = p.kind, 0
  return false
end

local function put(p, owner, text, grant_secret)
  if text then call('ZREM', order, member(parse_place(text), owner)) else back = back + 1 end
  call('ZADD', order, 0, member(p, owner), 0, 'o' .. owner)
  call('HSET', state, 't\n' .. owner, place_text(p), 'k\n' .. owner,
       p.state == 'w' and grant_secret or BACK)
  if log_fields().watch_store then changed(p.name, false) end -- others may watch already
end

for i = 6, #ARGV, 10 do
  local owner = sid .. ':' .. ARGV[i]
  local p = { state = ARGV[i + 1], seq = ARGV[i + 2], weight = tonumber(ARGV[i + 3]),
              slot = tonumber(ARGV[i + 4]), since = ARGV[i + 5], kind = ARGV[i + 6],
              name = ARGV[i + 7], note = ARGV[i + 8] }
  local text = call('HGET', state, 't\n' .. owner)
  local broken = text and sub(text, 1, 1) == 'b'
  local claim = p.kind == '1c' and p.state == 'g'
  mine[owner] = true
  if tonumber(p.seq) == 0 and text then p = parse_place(text) end -- it was granted, perhaps
  if not broken and tonumber(p.seq) > 0 then
    local line = parse_line(call('HGET', state, 'l\n' .. p.name), p.kind)
    line.epoch = '0' -- it is counted after the grace period
    broken = is_of_other_kind(p, owner, line) or
             (p.state == 'g' and not may_come_back(p, owner, line))
    if not broken then
      if p.state == 'g' then line.used = line.used + p.weight end
      call('HSET', state, 'l\n' .. p.name, line_text(line))
      put(p, owner, text, ARGV[i + 9])
    elseif text then
      take_away(parse_place(text), owner)
    else
      p.state = 'b'
      call('ZADD', order, 0, 'o' .. owner)
      call('HSET', state, 't\n' .. owner, place_text(p))
    end
  end
  if broken then -- the message was lost; another client may hold it by now
    send_message(sid, 'b ' .. ARGV[i])
  end
  if claim then
    claims = claims + 1
    local there = call('GET', KEYS[claims]) -- another program's: renew.lua will find our claim gone
    if not broken and (not there or match(there, CLAIM)) then
      call('SET', KEYS[claims], claim_value(owner, p.seq), 'PX', left)
    end
  end
end
local from = ARGV[4] == '' and '[o' .. sid .. ':' or '(o' .. sid .. ':' .. ARGV[4]
local to = ARGV[5] == '' and '(o' .. sid .. ';' or '[o' .. sid .. ':' .. ARGV[5]
local most = PIECE + (#ARGV - 5) / 10
local there = call('ZRANGEBYLEX', order, from, to, 'LIMIT', 0, most)
for _, index in ipairs(there) do
  local owner = sub(index, 2)
  if not mine[owner] then -- we have left it, but the server has lost that
    local text = call('HGET', state, 't\n' .. owner)
    if text and sub(text, 1, 1) ~= 'b' then
      take_out_place(parse_place(text), owner, 'r')
      away = away + 1
    end
    delete_place(owner)
    call('ZREM', order, index)
  end
end
return { 0, back, away, #there == most and 1 or nil }
