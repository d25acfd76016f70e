-- base.lua - the data, and what every script needs to read and write places.
--
-- script.c puts each script together: [NAME_quick.lua] changes.lua [quick.lua] base.lua
-- line.lua [server.lua or anybody.lua] NAME.lua.
--
-- KEYS  1 PREFIX:state  a hash
--       2 PREFIX:order  a sorted set of equal scores, so it is ordered by its members
--       3, 4            see changes.lua
--       5 ...           claim keys, where a script says so
-- ARGV  1 the epoch we know  2 our session, <sid>, or our place, <sid>:<id>
--       3 the number of our connection  4 ... see each script
--
-- Fields of the hash are a word; or a letter, a newline (written _ here) and a name or
-- id.  No word and no name contains a newline, so no two fields can be the same.
--   layout   of all this: LAYOUT                           ttl     longest of the leases u_
--   run      "<run id>:<replication id>" of the server that wrote the data
--   config_epoch  of the Sentinels, if there are any, when they named that server
--   epoch    changes when data were lost
--   last     highest token ever given out; every change of a line raises it, so it also tells
--            whether anything has changed
--   grace    "<end> <length>": nothing is granted until then
--   read_only  a read-only client began this epoch; see hello.lua
--   blank    "<when this epoch began> <how long its grace period is at least>": whether the
--            namespace is new has to be found out; see hello.lua
--   watch_store, history  see changes.lua
--   s_<sid>  "<end> <connection>"                          n_<sid> messages sent to a session
--   u_<sid>  the length of its lease, sixteen digits
--   l_<name> "<kind> <weight held> <waiting> <slots> <epoch>"
--   t_<sid>:<id>  "<state> <seq> <weight> <slot> <since> <kind> <name>\n<note>"
--            state: g granted, w waiting, b taken away
--   k_<sid>:<id>  the grant secret of a waiting place, for the message that grants it
--   a_<sid>:<id>  why somebody asks for the place          w_<name> somebody watches the line
-- Members of the sorted set
--   e<end><sid>       sessions by their end                o<sid>:<id>        places by owner
--   h<name>\n<place>  holders                              q<name>\n<place>   waiters
--   w<name>\n<sid>    sessions that watch a line           v<sid>\n<name>     lines they watch
--   f<name>\n<slot>   slots given back                     p<name>  lines with more to grant
--   u<lease><sid>     sessions that lock, by their leases
--                     where <place> is "<seq> <weight> <sid>:<id>"
-- A kind is the capacity, followed by c for a claim.  A seq is a token.  Times are
-- microseconds of the server's clock, sixteen digits; never use tostring() on them,
-- which rounds.
--
-- All answer { code, ... }: 0 done; 1 the data are of another epoch: say hello; 2 there
-- is no such session; 3 it has a newer connection than this; 8 KEYS 3 and 4 are needed;
-- further codes as each script says.
--
-- Only hello and renewals check which server this is.  That is enough: an epoch belongs
-- to one server, every connection begins with hello, and later calls on it reach the
-- same server.
--
-- A change of the data or their format takes another LAYOUT.  What hello.lua reads of
-- an older one stays in every layout: the fields layout, epoch, last, run, grace, and
-- the members e.
local LAYOUT = 3
local fmt, match = string.format, string.match
local sid = sub(ARGV[2], 1, 16)

if has_log == nil then
  local f = call('HMGET', state, 'watch_store', 'history')
  if f[1] or f[2] then return { 8 } end
  has_log = false
end

local t = call('TIME')
local now = t[1] * 1000000 + t[2]

-- The error answer for this epoch and session; nil: go on.
local function refusal(epoch, session)
  if epoch ~= ARGV[1] then return { 1 } end
  if not session or tonumber(sub(session, 1, 16)) <= now then return { 2 } end
  if sub(session, 18) ~= ARGV[3] then return { 3 } end
end

-- A full server refuses commands that take memory, except in a script that has already
-- written.  A client must be able to keep what it has, so its script writes something
-- harmless first.
local function begin_write() call('HDEL', state, '') end

local function line_text(line)
  return fmt('%s %.0f %d %d %s', line.kind, line.used, line.waiting, line.slots, line.epoch)
end

-- The value of a claim's key.  No other program would write this.
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
