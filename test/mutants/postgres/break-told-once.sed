# src/store/postgres/schema.sql: the first release of a broken place forgets it; if its answer is lost, the next one is told that all was well
# caught by: fault/broken_release on postgres
/^CREATE OR REPLACE FUNCTION holdfast.leave_line(/,/^END/ s/^        RETURN '0 1';$/        DELETE FROM holdfast.place WHERE sid = p_sid AND id = p_id AND state = 'b';\n        RETURN '0 1';/
