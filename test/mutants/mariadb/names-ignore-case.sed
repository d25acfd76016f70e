# src/store/mariadb/schema.sql: names that differ in case, or in blanks at the end, are one lock
# caught by: mariadb/procedures.py
/^CREATE TABLE IF NOT EXISTS hf_line (/,/^)/ s/name     VARBINARY(255) PRIMARY KEY/name     VARCHAR(255) PRIMARY KEY/
