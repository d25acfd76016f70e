# src/store/postgres/schema.sql: a call that was sent on an older connection takes effect in a biased line
# caught by: postgres/overlapping_transactions.py
/^CREATE OR REPLACE FUNCTION holdfast.hello(/,/^END/ s/PERFORM holdfast.unfold_sessions(ARRAY\[p_sid\]);/NULL;/
