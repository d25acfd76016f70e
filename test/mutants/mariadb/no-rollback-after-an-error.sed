# src/store/mariadb/schema.sql: an ENTER that fails leaves its transaction open, with its locks
# caught by: mariadb/procedures.py
/PROCEDURE hf_enter(/,/^END/ s/BEGIN ROLLBACK; RESIGNAL; END;/BEGIN RESIGNAL; END;/
