# src/store/postgres/schema.sql: the last waiter is granted first
# caught by: postgres/functions.py
/^CREATE OR REPLACE FUNCTION holdfast.grant_waiters(/,/^END/ s/ORDER BY seq LIMIT 1/ORDER BY seq DESC LIMIT 1/
