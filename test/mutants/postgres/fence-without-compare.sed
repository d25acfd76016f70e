# src/store/postgres/schema.sql: fence() lets a holder in whose token is stale
# caught by: postgres/fence.py
/^CREATE OR REPLACE FUNCTION holdfast.fence(/,/^END/ s/IF v_token > p_token AND/IF v_token < p_token AND/
