-- trail.lua - what every script begins with: to note down what happens, for those who survey all
-- lines, and as history.
--
-- KEYS  1 PREFIX:state    2 PREFIX:order    see base.lua
--       3 PREFIX:changes  a sorted set: lines that changed, by the `last` they had then; only while
--                         somebody surveys, and no more than MOST_CHANGES
--       4 PREFIX:past     a list: what happened, oldest first; only while history is kept
--       5 ...             claim keys, where a script says so
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
local MOST_CHANGES = 1000
local SLACK = 100 -- so many more records are kept than should be: to forget one by one is slow

-- A line has changed, by which `last` has come to that.  The field as it is then.
local function note_change(survey, name, last)
  local new = redis.pcall('ZADD', changes, last, name)
  if new == 0 or (new == 1 and call('ZCARD', changes) <= MOST_CHANGES) then return survey end
  call('DEL', changes)
  survey = string.gsub(survey, '%-', '?')
  call('HSET', state, 'survey', survey)
  return survey
end

-- Something has happened: a text as of a place, with what and when instead of its state and
-- since when; and, behind a zero byte, why.  The field as it is then.
local function note_event(history, text)
  local length, number = string.match(history, '^(%d+) (%d+)$')
  local count = redis.pcall('RPUSH', past, text)
  local over = type(count) == 'number' and count - length or 0
  if over < SLACK then return history end
  call('LTRIM', past, over, -1)
  history = string.format('%s %.0f', length, number + over)
  call('HSET', state, 'history', history)
  return history
end
