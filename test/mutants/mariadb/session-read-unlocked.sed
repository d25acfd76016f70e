# src/store/mariadb/schema.sql: a session may end during its ENTER, whose place then stays for ever
# caught by: mariadb/overlapping_transactions.py
/FUNCTION hf_enter(/,/^END/ s/AND connection = p_connection LOCK IN SHARE MODE;/AND connection = p_connection;/
