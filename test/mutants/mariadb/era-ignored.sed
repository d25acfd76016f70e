# src/store/mariadb/schema.sql: renewal numbers from before a restart or a failover still count
# caught by: mariadb/procedures.py
/PROCEDURE hf_expire_silent(/,/^END/ s/p_era = v_era AND/p_era IS NOT NULL AND/
