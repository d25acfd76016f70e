-- ask.lua - ask the owner of a place to give it up.  Follows anybody.lua.
--
-- ARGV 4 name 5 seq 6 why
-- -> { 0 }; { 6 } there is no such place
if not found then return { 6 } end
local whom, id = match(found, ' (%x+):(%d+)$')
call('HSET', state, fmt('a\n%s:%s', whom, id), ARGV[6])
if log_fields().history then
  log_event(parse_place(call('HGET', state, fmt('t\n%s:%s', whom, id))), 'a', ARGV[6])
end
send_message(whom, 'a ' .. id)
return { 0 }
