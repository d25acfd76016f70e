# src/store/postgres/schema.sql: renewal numbers from before a restart or a failover still count
# caught by: postgres/expiry_after_restart.py
/^CREATE OR REPLACE FUNCTION holdfast.expire_silent(/,/^END/ s/IF p_era <> holdfast.era() THEN/IF p_era IS NULL THEN/
