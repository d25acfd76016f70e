# src/store/mariadb/schema.sql: a call of an old connection takes effect
# caught by: mariadb/procedures.py
/PROCEDURE hf_enter(/,/^END/ s/WHERE sid = p_sid AND connection = p_connection LOCK/WHERE sid = p_sid LOCK/
