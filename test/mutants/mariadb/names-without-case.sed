# src/store/mariadb/schema.sql: names are texts, so that deploy, Deploy and "deploy " are one lock
# caught by: mariadb/procedures.py
s/name     VARBINARY(255)/name     VARCHAR(255)/
s/p_name VARBINARY(255)/p_name VARCHAR(255)/
s/p_name LONGBLOB/p_name VARCHAR(255)/
