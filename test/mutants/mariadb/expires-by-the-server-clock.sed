# src/store/mariadb/schema.sql: the clock of the server keeps a session for ever
# caught by: mariadb/procedures.py
/FUNCTION hf_expire_one(/,/^END/ s/v_now - renewed NOT BETWEEN 0 AND ttl \* 1000 - 1/v_now - renewed >= ttl * 1000/
