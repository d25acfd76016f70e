# src/store/postgres/schema.sql: the end of a session leaves its place in a biased line behind
# caught by: postgres/functions.py
/^CREATE OR REPLACE FUNCTION holdfast.remove_sessions(/,/^END/ s/PERFORM holdfast.unfold_sessions(p_sids);/NULL;/
