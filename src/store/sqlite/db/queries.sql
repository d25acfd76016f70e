-- Every statement of the store, in the order of enum hf_sq_query in db.h.  A semicolon at
-- the end of a line ends a statement.

BEGIN IMMEDIATE;
COMMIT;
ROLLBACK;

-- MARK, ADVANCE: the mark that no number passes; raise it
SELECT hwm FROM meta;
UPDATE meta SET hwm = max(hwm, ?2);

-- ENTER
INSERT INTO place VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13);

-- REMOVE
DELETE FROM place WHERE line = ?1 AND seq = ?2;

-- GRANT
UPDATE place SET granted = ?3, slot = ?4 WHERE line = ?1 AND seq = ?2;

-- DOWNGRADE
UPDATE place SET weight = ?3 WHERE line = ?1 AND seq = ?2;

-- LAST, SET_TOTAL, COUNT_TOTAL: the last place with the running total of its line; write
-- that; count the line
SELECT seq, sid, weight, capacity, claim, queued, granted, slot, places, waits, total
  FROM place WHERE line = ?1 ORDER BY seq DESC LIMIT 1;
UPDATE place SET places = ?3, waits = ?4, total = ?5
 WHERE line = ?1
   AND seq = coalesce(nullif(?2, 0), (SELECT max(seq) FROM place WHERE line = ?1));
SELECT count(*), sum(granted = 0), sum(weight & 4294967295) FROM place WHERE line = ?1;

-- ONE, AHEAD of a number, BEHIND it: columns as in hf_sq_row_read()
SELECT seq, sid, weight, capacity, claim, queued, granted, slot
  FROM place WHERE line = ?1 AND seq = ?2;
SELECT seq, sid, weight, capacity, claim, queued, granted, slot
  FROM place WHERE line = ?1 AND seq < ?2 ORDER BY seq DESC;
SELECT seq, sid, weight, capacity, claim, queued, granted, slot
  FROM place WHERE line = ?1 AND seq > ?2 ORDER BY seq;

-- LINE, ALL: the same, and the texts
SELECT seq, sid, weight, capacity, claim, queued, granted, slot, line, note
  FROM place WHERE line = ?1 ORDER BY seq;
SELECT seq, sid, weight, capacity, claim, queued, granted, slot, line, note
  FROM place ORDER BY line, seq;

-- COUNT: how many are ahead of a number
SELECT count(*) FROM place WHERE line = ?1 AND seq < ?2;

-- ASKED: the reason left at a place
SELECT why FROM ask WHERE line = ?1 AND seq = ?2;

-- ASK, UNASK: leave a reason; remove reasons at places that are gone
INSERT INTO ask VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET why = excluded.why;
DELETE FROM ask WHERE NOT EXISTS
    (SELECT 1 FROM place WHERE place.line = ask.line AND place.seq = ask.seq);

-- END: remove the places of a session, all before the first row is returned
DELETE FROM place WHERE sid = ?2 RETURNING line, seq;

-- CHANGED: the lines with entries after a number, and the first of these
SELECT line, min(number) FROM past WHERE number > ?2 GROUP BY line;

-- SESSIONS: those that have a place
SELECT DISTINCT sid FROM place;

-- ADD_ENTRY, ADD_ENTRIES: ?3, or ?4 if it waits, happened to one place, or to all places of
-- a session
INSERT INTO past
    SELECT NULL, ?5, iif(granted, ?3, ?4), line, seq, weight, capacity, claim, slot, note, ?6
      FROM place WHERE line = ?1 AND seq = ?2;
INSERT INTO past
    SELECT NULL, ?5, iif(granted, ?3, ?4), line, seq, weight, capacity, claim, slot, note, ?6
      FROM place WHERE sid = ?2 ORDER BY line, seq;

-- LATEST, TRIM, BLANK: the number of the last entry; remove all up to a number; remove the
-- texts
SELECT ifnull(max(number), 0) FROM past;
DELETE FROM past WHERE number <= ?2;
UPDATE past SET line = '', note = '', reason = '';

-- READ_HISTORY: entries after a number, of a line or, if it is '', of all
SELECT * FROM past WHERE number > ?2 AND line <> '' AND ?1 IN ('', line) ORDER BY number;

-- HALVE: remove the older half of the entries; the last stays for its number
DELETE FROM past WHERE number < (SELECT (min(number) + max(number) + 1) / 2 FROM past);

-- PAGES: their number and size
SELECT page_count, page_size FROM pragma_page_count, pragma_page_size;

-- FREEZE, THAW: the database may not grow; it may
PRAGMA max_page_count = 1;
PRAGMA max_page_count = 1073741823;
