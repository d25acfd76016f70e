# src/store/postgres/schema.sql: functions run in transactions that do not see what was committed meanwhile
# caught by: postgres/overlapping_transactions.py
/^CREATE OR REPLACE FUNCTION holdfast.check_isolation(/,/^END/ s/<> 'read committed' THEN/= 'nothing' THEN/
