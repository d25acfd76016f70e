# src/store/mariadb/schema.sql: a connection sleeps although there are messages, whose wake-up came before
# caught by: mariadb/procedures.py
/PROCEDURE hf_await(/,/^END/ s/SELECT 1 INTO v_news FROM hf_message WHERE sid = p_sid LIMIT 1 LOCK IN SHARE MODE;/DO 1;/
