# src/store/mariadb/schema.sql: numbers that were drawn before a restart count after it
# caught by: mariadb/procedures.py
/PROCEDURE hf_expire_silent(/,/^END/ s/ AND p_era = v_era AND v_count/ AND v_count/
