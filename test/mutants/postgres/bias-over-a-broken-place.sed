# src/store/postgres/schema.sql: an ENTER that is repeated gets a place back that was broken
# caught by: postgres/functions.py
/^CREATE OR REPLACE FUNCTION holdfast.enter_line(/,/^END/ s/messages > 0 AND name = p_name);/false);/
