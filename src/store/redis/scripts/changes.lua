-- changes.lua - the change log, for sessions that watch the store; and the history.
--
-- KEYS  3 PREFIX:changes  a sorted set: lines that changed, by the `last` they had then; only
--                         while somebody watches the store, at most MOST_CHANGES
--       4 PREFIX:history  a list: what happened, oldest first; only while history is kept
--
-- Usually neither exists.  A cluster that is moving a slot may refuse a call that names
-- a key that does not exist.  So a call leaves both out until a script answers that it
-- needs them.  If other keys follow, the first two are repeated in their place.
--
-- Two fields of the hash.  Usually both are absent, and to find that out is the only
-- cost.
--   watch_store  "<mark><sid>:<last>" for each session that watches the store, which has seen all
--            changes up to `last`.  Marks: + send it a message at the next change; - do not;
--            ? the change log has overflowed
--   history  "<length> <number>": how many entries to keep, and the number of the last one deleted
--
-- Neither may ever get in the way of a lock: writes that fail are skipped.
local call, sub = redis.call, string.sub
local state, order, changes, history_list = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local has_log = history_list and history_list ~= order or nil -- false: nothing to log
local MOST_CHANGES = 1000

-- A key or a channel of the same namespace.
local function with_prefix(name) return sub(state, 1, -6) .. name end

-- Messages are numbered, so that a session notices when it has missed one.
local function send_message(whom, text)
  local n = call('HINCRBY', state, 'n\n' .. whom, 1)
  call('PUBLISH', with_prefix('wake:' .. whom), string.format('%d %s', n, text))
end

-- A line has changed, which raised `last` to this.  Each watcher gets one message, then
-- has to come and read.  Returns the new value of the field.
local function log_change(watch_store, name, last)
  local before = watch_store
  for whom in string.gmatch(watch_store, '%+(%x+):') do send_message(whom, 's') end
  watch_store = string.gsub(watch_store, '%+', '-')
  local new = redis.pcall('ZADD', changes, last, name)
  local count = new == 0 and 0 or redis.pcall('ZCARD', changes)
  if type(count) ~= 'number' or count > MOST_CHANGES then
    call('DEL', changes)
    watch_store = string.gsub(watch_store, '%-', '?')
  end
  if watch_store ~= before then call('HSET', state, 'watch_store', watch_store) end
  return watch_store
end

-- The list has so many entries now.  It may grow longer than wanted, because deleting
-- entries one by one would be slow.  Returns the new value of the field.
local function trim_history(history, count)
  if type(count) ~= 'number' or count % 64 ~= 0 then return history end
  local length, number = string.match(history, '^(%d+) (%d+)$')
  local over = count - length
  if over <= 0 then return history end
  if redis.pcall('LTRIM', history_list, over, -1).err then return history end
  history = string.format('%s %.0f', length, number + over)
  call('HSET', state, 'history', history)
  return history
end

-- An entry has the form of a place: event and time instead of its state and `since`;
-- and, behind a NUL, the reason.
local function append_history(history, text)
  return trim_history(history, redis.pcall('RPUSH', history_list, text))
end
