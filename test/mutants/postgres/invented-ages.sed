# src/store/postgres/schema.sql: a client that invents the age of its numbers ends live sessions
# caught by: postgres/functions.py
/^CREATE OR REPLACE FUNCTION holdfast.expire_silent(/,/^END/ s/v_now - s.renewed NOT BETWEEN 0 AND s.ttl \* 1000 - 1 AND EXISTS (/v_now > 0 AND EXISTS (/
