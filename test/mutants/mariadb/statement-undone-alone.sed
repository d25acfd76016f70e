# src/store/mariadb/schema.sql: after a wait that took too long the transaction stays open
# caught by: mariadb/procedures.py
/PROCEDURE hf_enter(/,/^END/ s/BEGIN ROLLBACK; RESIGNAL; END;/RESIGNAL;/
