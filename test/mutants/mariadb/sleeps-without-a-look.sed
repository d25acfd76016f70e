# src/store/mariadb/schema.sql: a connection sleeps although there are messages, whose wake-up came before
# caught by: mariadb/procedures.py
/PROCEDURE hf_await(/,/^END/ s/AND NOT EXISTS (SELECT 1 FROM hf_message WHERE sid = p_sid) AND/AND/
