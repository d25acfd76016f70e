# src/store/mariadb/schema.sql: a token that is too low passes
# caught by: mariadb/procedures.py
/PROCEDURE hf_check_fence(/,/^END/ s/IF v_token > p_token AND/IF FALSE AND/
