-- Every statement of the store, in the order of enum hf_sq_query in db.h.  Where a line ends
-- with a semicolon, a statement does.

BEGIN IMMEDIATE;
COMMIT;
ROLLBACK;

-- MARK, ADVANCE: how high numbers may go
SELECT hwm FROM meta;
UPDATE meta SET hwm = max(hwm, ?2);

-- ENTER
INSERT INTO ticket VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13);

-- REMOVE
DELETE FROM ticket WHERE line = ?1 AND seq = ?2;

-- GRANT
UPDATE ticket SET granted = ?3, slot = ?4 WHERE line = ?1 AND seq = ?2;

-- AMEND
UPDATE ticket SET weight = ?3 WHERE line = ?1 AND seq = ?2;

-- LAST, SET_SUM, SUM: the last ticket, with the sum of its line; write that; count it anew
SELECT seq, sid, weight, capacity, claim, queued, granted, slot, places, waits, total
  FROM ticket WHERE line = ?1 ORDER BY seq DESC LIMIT 1;
UPDATE ticket SET places = ?3, waits = ?4, total = ?5
 WHERE line = ?1
   AND seq = coalesce(nullif(?2, 0), (SELECT max(seq) FROM ticket WHERE line = ?1));
SELECT count(*), sum(granted = 0), sum(weight & 4294967295) FROM ticket WHERE line = ?1;

-- ONE, AHEAD of a number, BEHIND it: columns as in hf_sq_row_read()
SELECT seq, sid, weight, capacity, claim, queued, granted, slot
  FROM ticket WHERE line = ?1 AND seq = ?2;
SELECT seq, sid, weight, capacity, claim, queued, granted, slot
  FROM ticket WHERE line = ?1 AND seq < ?2 ORDER BY seq DESC;
SELECT seq, sid, weight, capacity, claim, queued, granted, slot
  FROM ticket WHERE line = ?1 AND seq > ?2 ORDER BY seq;

-- LINE, ALL: the same, and the texts
SELECT seq, sid, weight, capacity, claim, queued, granted, slot, line, note
  FROM ticket WHERE line = ?1 ORDER BY seq;
SELECT seq, sid, weight, capacity, claim, queued, granted, slot, line, note
  FROM ticket ORDER BY line, seq;

-- COUNT: how many are ahead of a number
SELECT count(*) FROM ticket WHERE line = ?1 AND seq < ?2;

-- ASKED: the word left at a ticket
SELECT why FROM ask WHERE line = ?1 AND seq = ?2;

-- ASK, UNASK: leave a word; clear away those at tickets that are gone
INSERT INTO ask VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET why = excluded.why;
DELETE FROM ask WHERE NOT EXISTS
    (SELECT 1 FROM ticket WHERE ticket.line = ask.line AND ticket.seq = ask.seq);

-- END: the tickets of a session go, all before the first row is returned
DELETE FROM ticket WHERE sid = ?2 RETURNING line, seq;

-- CHANGED: the lines to which something happened after a number, and the first of it
SELECT line, min(number) FROM past WHERE number > ?2 GROUP BY line;

-- SESSIONS: who has a place
SELECT DISTINCT sid FROM ticket;

-- RECORD, RECORD_ALL: this happened (?3, or ?4 if it waits) to one ticket, or to all of a session
INSERT INTO past
    SELECT NULL, ?5, iif(granted, ?3, ?4), line, seq, weight, capacity, claim, slot, note, ?6
      FROM ticket WHERE line = ?1 AND seq = ?2;
INSERT INTO past
    SELECT NULL, ?5, iif(granted, ?3, ?4), line, seq, weight, capacity, claim, slot, note, ?6
      FROM ticket WHERE sid = ?2 ORDER BY line, seq;

-- LATEST, TRIM, BLANK: the number of the last record; forget all up to a number, or the text
SELECT ifnull(max(number), 0) FROM past;
DELETE FROM past WHERE number <= ?2;
UPDATE past SET line = '', note = '', reason = '';

-- RECALL: what happened after a number, to a line or, if it is '', to all
SELECT * FROM past WHERE number > ?2 AND line <> '' AND ?1 IN ('', line) ORDER BY number;

-- HALVE: forget the older half of the records; the last stays for its number
DELETE FROM past WHERE number < (SELECT (min(number) + max(number) + 1) / 2 FROM past);

-- PAGES: how many there are, and their size
SELECT page_count, page_size FROM pragma_page_count, pragma_page_size;

-- FREEZE, THAW: the database has no more pages than now; as many as it likes
PRAGMA max_page_count = 1;
PRAGMA max_page_count = 1073741823;
