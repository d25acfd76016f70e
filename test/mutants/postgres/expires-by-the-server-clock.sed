# src/store/postgres/schema.sql: the server's clock alone decides that a session is dead
# caught by: postgres/functions.py, postgres/server_clock.py
/^CREATE OR REPLACE FUNCTION holdfast.expire_silent(/,/^END/ s/drawn.age \* 500 >= s.ttl \* 501/drawn.age >= 0/
