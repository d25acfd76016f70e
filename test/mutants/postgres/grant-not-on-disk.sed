# src/store/postgres/schema.sql: with synchronous_commit off a crash undoes a grant
# caught by: postgres/crash_after_break
/^CREATE OR REPLACE FUNCTION holdfast.ensure_durable(/,/^END/ s/set_config('synchronous_commit', 'on', true)/set_config('synchronous_commit', 'off', true)/
