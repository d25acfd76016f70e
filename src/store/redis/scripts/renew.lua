-- renew.lua - extend our lease, and end sessions whose lease is over.
--
-- ARGV 4 ttl 5 ... for each claim: id, seq    KEYS 5 ... the claims
-- -> { 0, messages sent to us, patience, grace period left, longest ttl, token,
--      ids of claims that are gone ... }, and no token given out so far is higher
local f = call('HMGET', state, 'epoch', 's\n' .. sid, 'grace', 'run', 'ttl')
local wrong = refusal(f[1], f[2])
if wrong then return wrong end
if may_have_lost_data(f[4], match(f[4] or '', '^%x*'), replication_ids()) then return { 1 } end
head = { epoch = f[1], grace = f[3] }

local ttl = tonumber(ARGV[4])
renew(sid, ARGV[3], sub(f[2], 1, 16), ttl)
keep_time(tonumber(f[5] or '0'))
sweep()
local ret = { 0, tonumber(call('HGET', state, 'n\n' .. sid) or '0'), patience(), grace_left(),
              tonumber(f[5] or '0'), highest_token() }
for i = 5, #KEYS do
  local id = ARGV[2 * i - 5]
  local owner = sid .. ':' .. id
  if call('GET', KEYS[i]) == claim_value(owner, ARGV[2 * i - 4]) then
    call('PEXPIRE', KEYS[i], math.ceil(ttl / 1000))
  else
    local text = call('HGET', state, 't\n' .. owner)
    if text then own_place(owner, text, KEYS[i]) end
    ret[#ret + 1] = id
  end
end
return ret
