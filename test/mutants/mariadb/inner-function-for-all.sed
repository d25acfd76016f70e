# src/store/mariadb/schema.sql: whoever may call all functions forges messages
# caught by: mariadb/whole.py
/PROCEDURE hf_send(/,/^BEGIN/ s/SQL SECURITY INVOKER/SQL SECURITY DEFINER/
