-- trail.lua - to note down what happens: for those who survey all lines, and as history.
--
-- KEYS  3 PREFIX:changes  a sorted set: lines that changed, by the `last` they had then; only while
--                         somebody surveys, and no more than MOST_CHANGES
--       4 PREFIX:past     a list: what happened, oldest first; only while history is kept
--
-- As a rule neither exists.  In a cluster whose slots move, a call that names a key that does not
-- exist may not be served.  So a call leaves both out until it is told that they are needed; if
-- there are keys behind them, the first two stand there once more.
--
-- Two fields of the hash.  Both are absent as a rule, and that is all that it costs then.
--   survey   for each who surveys "<mark><sid>:<last>": he has seen all up to `last`.  Marks:
--            + he waits, and is to be told of the next change; - he is not; ? there was too much
--            to remember
--   history  "<length> <number>": of how many is kept, and the number of the last forgotten
--
-- Neither may ever be in the way of a lock: what cannot be written is left out.
local call, sub = redis.call, string.sub
local state, order, changes, past = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local noted = past and past ~= order or nil -- false: there is nothing to note down
local MOST_CHANGES = 1000

-- A key of the same namespace, or a channel.
local function with_prefix(name) return sub(state, 1, -6) .. name end

-- Numbered, so that a session knows when it missed one.
local function tell(whom, text)
  local n = call('HINCRBY', state, 'n\n' .. whom, 1)
  call('PUBLISH', with_prefix('wake:' .. whom), string.format('%d %s', n, text))
end

-- A line has changed, by which `last` has come to that.  Who waits for it is told, once: then he
-- comes and looks.  The field as it is then.
local function note_change(survey, name, last)
  local before = survey
  for whom in string.gmatch(survey, '%+(%x+):') do tell(whom, 's') end
  survey = string.gsub(survey, '%+', '-')
  local new = redis.pcall('ZADD', changes, last, name)
  local count = new == 0 and 0 or redis.pcall('ZCARD', changes)
  if type(count) ~= 'number' or count > MOST_CHANGES then
    call('DEL', changes)
    survey = string.gsub(survey, '%-', '?')
  end
  if survey ~= before then call('HSET', state, 'survey', survey) end
  return survey
end

-- There are so many records.  Some more are kept than should be, for to forget one by one would
-- be slow.  The field as it is then.
local function forget_events(history, count)
  if type(count) ~= 'number' or count % 64 ~= 0 then return history end
  local length, number = string.match(history, '^(%d+) (%d+)$')
  local over = count - length
  if over <= 0 then return history end
  if redis.pcall('LTRIM', past, over, -1).err then return history end
  history = string.format('%s %.0f', length, number + over)
  call('HSET', state, 'history', history)
  return history
end

-- Something has happened: a text as of a place, with what and when instead of its state and
-- since when; and, behind a zero byte, why.
local function note_event(history, text)
  return forget_events(history, redis.pcall('RPUSH', past, text))
end
