# src/store/mariadb/schema.sql: hf_check_fence() lets a holder in whose token is stale
# caught by: mariadb/procedures.py
/PROCEDURE hf_check_fence(/,/^END/ s/IF v_token > p_token AND/IF v_token < p_token AND/
