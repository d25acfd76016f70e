-- quick.lua - behind trail.lua, where a script has NAME_quick.lua before that: what there is to do
-- beside, once that has `done` it.  It has looked whether the trail needs its keys.
noted = noted or false
if done then
  local survey, history = unpack(f, #f - 1)
  if survey then note_change(survey, name, string.format('%.0f', last)) end
  if history then forget_events(history, events) end
  return done
end
