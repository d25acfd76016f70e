# src/store/mariadb/schema.sql: HELLO ends any connection that its caller names
# caught by: mariadb/whole.py
/PROCEDURE hf_hello(/,/^END/ s/IF IS_USED_LOCK(CONCAT('holdfast.', p_sid, '.', p_former)) = p_former AND/IF p_former > 0 AND/
