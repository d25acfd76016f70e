# src/store/sqlite/db/queries.sql: the mark that no number passes is not raised: tokens fall after a reboot
# caught by: sqlite/token
s/UPDATE meta SET hwm = max(hwm, ?2);/UPDATE meta SET hwm = hwm WHERE ?2 IS NOT NULL;/
