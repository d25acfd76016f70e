# src/store/mariadb/schema.sql: a session expires before its owner, whose clock is slower, has stopped
# caught by: mariadb/procedures.py
/FUNCTION hf_expire_one(/,/^END/ s/ttl \* 501 <= p_age \* 500/ttl <= p_age/
