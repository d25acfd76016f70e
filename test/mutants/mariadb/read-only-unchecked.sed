# src/store/mariadb/schema.sql: a definer who may do everything writes on a replica
# caught by: mariadb/procedures.py
/PROCEDURE hf_refuse(/,/^END/ s/IF @@read_only THEN/IF FALSE THEN/
