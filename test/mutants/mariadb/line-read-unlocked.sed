# src/store/mariadb/schema.sql: ENTER reads its line without locking it
# caught by: mariadb/overlapping_transactions.py
/FUNCTION hf_enter(/,/^END/ s/FROM hf_line WHERE name = p_name FOR UPDATE;/FROM hf_line WHERE name = p_name;/
