# src/store/postgres/schema.sql: changes of a biased line are not written to the change log
# caught by: postgres/change_log.py
/^CREATE OR REPLACE FUNCTION holdfast.set_log(/,/^END/ s/WHERE connection IS NOT NULL));/WHERE false));/
