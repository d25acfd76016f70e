# src/store/mariadb/schema.sql: statements see what was committed before the first of them
# caught by: mariadb/procedures.py
/PROCEDURE hf_begin(/,/^END/ s/SET TRANSACTION ISOLATION LEVEL READ COMMITTED;/DO 1;/
