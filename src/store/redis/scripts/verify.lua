-- verify.lua - does a place still hold?  Follows anybody.lua.
--
-- ARGV 4 name 5 seq
-- -> { 0 }; { 6 } there is no such place, or it waits
if not found or sub(found, 1, 1) ~= 'h' then return { 6 } end
return { 0 }
