# src/store/mariadb/schema.sql: ENTER runs in a transaction of its caller, who may undo it
# caught by: mariadb/procedures.py mariadb/whole.py
/FUNCTION hf_enter(/,/^END/ s/IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN/IF @@read_only THEN/
