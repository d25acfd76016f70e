# src/store/mariadb/schema.sql: a call that was sent on an older connection takes effect
# caught by: mariadb/procedures.py
s/WHERE sid = p_sid AND connection = p_connection LOCK IN SHARE MODE;/WHERE sid = p_sid LOCK IN SHARE MODE;/
s/IF(v_connection <> p_connection, 3, 0)/IF(v_connection <> p_connection, 0, 0)/
