# src/store/postgres/schema.sql: a call that was sent on an older connection takes effect
# caught by: postgres/functions.py
s/WHEN v_connection = p_connection THEN 0 ELSE 3 END;/ELSE 0 END;/
s/WHERE sid = p_sid AND connection = p_connection FOR SHARE SKIP LOCKED;/WHERE sid = p_sid FOR SHARE SKIP LOCKED;/
