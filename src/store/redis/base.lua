-- base.lua - what every script needs that reads or writes places.
--
-- A script is trail.lua, base.lua, line.lua and NAME.lua behind each other.  Some have
-- NAME_quick.lua before, and quick.lua behind the first; some have server.lua or anybody.lua
-- before NAME.lua.
--
-- KEYS  1 PREFIX:state  a hash: all that is looked up by its name
--       2 PREFIX:order  a sorted set of equal scores: all that has an order
--       3, 4            see trail.lua
--       5 ...           claim keys, where a script says so
-- ARGV  1 the epoch we know  2 our session, <sid>, or our place, <sid>:<id>
--       3 our connection  4 ... see each script
--
-- Fields of the hash are a word, or a letter and a newline (written _ here) and what it is of.
-- No word has a newline, nor has a name: so no name makes two fields one.
--   layout   of all this: LAYOUT                           ttl     longest of the leases u_
--   run      "<run id>:<replication id>" of the server that wrote them; see lost()
--   epoch    changes when data were lost
--   last     highest token ever given out; any change of a line raises it, so that it also
--            tells whether there was one
--   hold     "<end> <length>": nobody is granted anything until then
--   looked   a client that only looks began this epoch; see hello.lua
--   survey, history  see trail.lua
--   s_<sid>  "<end> <connection>"                          n_<sid> messages sent to a session
--   u_<sid>  how long its lease is, sixteen digits
--   l_<name> "<kind> <weight held> <waiting> <slots> <epoch>"
--   t_<sid>:<id>  "<state> <seq> <weight> <slot> <since> <kind> <name>\n<note>"
--            state: g granted, w waiting, b taken away by somebody
--   k_<sid>:<id>  the secret of a place that waits, for the message that it is granted
--   a_<sid>:<id>  why somebody asks for the place          w_<name> somebody watches the line
-- Members of the sorted set
--   e<end><sid>       sessions by their end                o<sid>:<id>        places by owner
--   h<name>\n<place>  who holds                            q<name>\n<place>   who waits
--   w<name>\n<sid>    who watches                          v<sid>\n<name>     what it watches
--   f<name>\n<slot>   slots given back                     p<name>  more can be granted in it
--   u<lease><sid>     sessions that lock, by their leases
--                     where <place> is "<seq> <weight> <sid>:<id>"
-- A kind is the capacity, with a c behind it for a claim.  A seq is a token.  Times are
-- microseconds of the server's clock, sixteen digits, never tostring()ed: that rounds.
--
-- All answer { code, ... }: 0 done; 1 the data are of another epoch: say hello; 2 there is
-- no such session; 3 it has a newer connection than this; 8 KEYS 3 and 4 are needed; others as
-- each script says.
--
-- Only hello and renewals look at who the server is.  Each epoch is of one server, every
-- connection begins with hello, and what follows on it reaches the same server: so whoever
-- knows the epoch is right about the server, too.
--
-- A change of what is kept, or how, takes another LAYOUT.  What hello.lua reads of an older one
-- stays in every layout: the fields layout, epoch, last, run, hold, and the members e.
local LAYOUT = 3
local fmt, match = string.format, string.match
local sid = sub(ARGV[2], 1, 16)

if noted == nil then
  local f = call('HMGET', state, 'survey', 'history')
  if f[1] or f[2] then return { 8 } end
  noted = false
end

local t = call('TIME')
local now = t[1] * 1000000 + t[2]

-- What is wrong, given the fields epoch and s<sid>; nil if nothing is.
local function refusal(epoch, session)
  if epoch ~= ARGV[1] then return { 1 } end
  if not session or tonumber(sub(session, 1, 16)) <= now then return { 2 } end
  if sub(session, 18) ~= ARGV[3] then return { 3 } end
end

-- A full server denies what takes memory, but not to a script that has begun to write.  Who
-- has something already must be able to keep it.
local function insist() call('HDEL', state, '') end

local function line_text(line)
  return fmt('%s %.0f %d %d %s', line.kind, line.used, line.waiting, line.slots, line.epoch)
end

-- The value of a claim's key, which tells it from all that another program would write there.
local CLAIM = '^holdfast:' .. string.rep('%x', 16) .. ':%d+:' .. string.rep('%d', 16) .. '$'
local function claim_value(owner, seq) return 'holdfast:' .. owner .. ':' .. seq end

local function parse_place(text)
  local s, seq, weight, slot, since, kind, name, note =
    match(text, '^(%a) (%d+) (%d+) (%-?%d+) (%d+) (%S+) ([^\n]*)\n(.*)$')
  return { state = s, seq = seq, weight = tonumber(weight), slot = tonumber(slot),
           since = since, kind = kind, name = name, note = note }
end

local function place_text(p)
  return fmt('%s %s %.0f %d %s %s %s\n', p.state, p.seq, p.weight, p.slot, p.since, p.kind,
             p.name) .. p.note
end

local function member(p, owner)
  return fmt('%s%s\n%s %.0f %s', p.state == 'g' and 'h' or 'q', p.name, p.seq, p.weight, owner)
end
