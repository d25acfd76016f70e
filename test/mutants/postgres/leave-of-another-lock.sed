# src/store/postgres/schema.sql: LEAVE with the name of another lock hands that one on while it is held
# caught by: postgres/functions.py
/^CREATE OR REPLACE FUNCTION holdfast.leave_line(/,/^END/ s/AND id = p_id AND name = p_name AND state <> 'b'/AND id = p_id AND state <> 'b'/
