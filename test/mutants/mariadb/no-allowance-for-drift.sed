# src/store/mariadb/schema.sql: a session expires before its owner, whose clock is slower, has stopped
# caught by: mariadb/procedures.py
/PROCEDURE hf_expire_silent(/,/^END/ s/ttl \* 501 <= v_age \* 500/ttl <= v_age/
