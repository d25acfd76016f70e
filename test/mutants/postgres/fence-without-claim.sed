# src/store/postgres/schema.sql: fence() does not write the new holder's token down
# caught by: postgres/fence.py
/^CREATE OR REPLACE FUNCTION holdfast.fence(/,/^END/ s/DO UPDATE SET token = greatest(f.token, p_token);/DO NOTHING;/
