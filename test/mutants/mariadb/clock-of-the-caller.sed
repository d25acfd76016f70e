# src/store/mariadb/schema.sql: the server's time is what the caller sets
# caught by: mariadb/whole.py
/FUNCTION hf_clock(/,/^END/ s/^    RETURN (CONV.*/    RETURN TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + 0 * (LENGTH(u)/
