# src/store/postgres/schema.sql: a line that was made meanwhile is read without being locked
# caught by: postgres/overlapping_transactions.py
/^CREATE OR REPLACE FUNCTION holdfast.make_line(/,/^END/ s/v_line := holdfast.lock_line(p_name);/PERFORM holdfast.unfold(ARRAY[p_name]); SELECT * INTO v_line FROM holdfast.line WHERE name = p_name;/
