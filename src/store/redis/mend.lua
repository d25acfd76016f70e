-- mend.lua - after data were lost: make our session's places what we know them to be.
--
-- A piece of them at a time, in the order of their ids as texts: those between two ids.
--
-- ARGV 4, 5  the ids: behind the first, up to the second; "" where there is no such end
--      6 ... for each place: id, state, seq, weight, slot, since, kind, name, note, secret;
--            seq 0 if its ENTER was never answered
-- KEYS 5 ... the claims among those that hold, in the same order
-- -> { 0, places put down again, places taken away }, and a 1 behind them if there may be
--    more to take away: the same piece once more; { 2 } too late
local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'hold')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
head = { epoch = f[1], hold = f[3] }
if not on_hold() then return { 2 } end
insist()

local left = math.ceil((tonumber(sub(f[2], 1, 16)) - now) / 1000)
local mine, claims, back, away = {}, 4, 0, 0

local function put(p, owner, text, secret)
  if text then call('ZREM', order, member(parse_place(text), owner)) else back = back + 1 end
  call('ZADD', order, 0, member(p, owner), 0, 'o' .. owner)
  call('HSET', state, 't\n' .. owner, place_text(p))
  if p.state == 'w' then call('HSET', state, 'k\n' .. owner, secret) end
  if call('HEXISTS', state, 'l\n' .. p.name) == 0 then -- counted when the hold-off is over
    call('HSET', state, 'l\n' .. p.name, p.kind .. ' 0 0 0 0')
  end
  if trail().survey then changed(p.name, false) end -- by whoever came back before us
end

for i = 6, #ARGV, 10 do
  local owner = sid .. ':' .. ARGV[i]
  local p = { state = ARGV[i + 1], seq = ARGV[i + 2], weight = tonumber(ARGV[i + 3]),
              slot = tonumber(ARGV[i + 4]), since = ARGV[i + 5], kind = ARGV[i + 6],
              name = ARGV[i + 7], note = ARGV[i + 8] }
  local text = call('HGET', state, 't\n' .. owner)
  local broken = text and sub(text, 1, 1) == 'b'
  mine[owner] = true
  if broken then -- and we were not told; another may hold it by now
    tell(sid, 'b ' .. ARGV[i])
  elseif tonumber(p.seq) > 0 then
    put(p, owner, text, ARGV[i + 9])
  end
  if p.kind == '1c' and p.state == 'g' then
    claims = claims + 1
    local there = call('GET', KEYS[claims]) -- none of ours: renew.lua will find it gone
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
  if not mine[owner] then -- given back already, where that is not known any more
    local text = call('HGET', state, 't\n' .. owner)
    if text and sub(text, 1, 1) ~= 'b' then
      take_out(parse_place(text), owner, 'r')
      away = away + 1
    end
    forget(owner)
    call('ZREM', order, index)
  end
end
return { 0, back, away, #there == most and 1 or nil }
