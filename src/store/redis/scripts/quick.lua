-- quick.lua - after a fast path: logs what it has `done`, and returns its answer.
-- Follows changes.lua.  The fast path has already checked that the keys of the log are
-- there if needed.
has_log = has_log or false
if done then
  local watch_store, history = unpack(f, #f - 1)
  if watch_store then log_change(watch_store, name, string.format('%.0f', last)) end
  if history then trim_history(history, events) end
  return done
end
