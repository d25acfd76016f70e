# src/store/mariadb/schema.sql: calls run in transactions that do not see what was committed meanwhile
# caught by: mariadb/overlapping_transactions.py
/PROCEDURE hf_begin(/,/^END/ s/IF @@tx_isolation <> 'READ-COMMITTED' THEN/IF @@tx_isolation = 'nothing' THEN/
