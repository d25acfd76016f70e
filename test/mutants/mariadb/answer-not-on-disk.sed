# src/store/mariadb/schema.sql: READ tells what may not be on disk yet
# caught by: mariadb/procedures.py
/FUNCTION hf_read(/,/^END/ s/CALL hf_write_something();/DO 1;/
