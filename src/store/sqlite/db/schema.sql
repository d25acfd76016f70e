-- A new store.  Rows are notes: only the liveness locks in PATH-live (live.h) say which
-- places are alive.  `PRAGMA user_version` is the layout: db_open.c.

PRAGMA application_id = 1215261796; -- "Hold"

-- One row.  No place has a number above hwm yet.  A higher hwm is flushed to the disk before
-- numbers below it are given out, so that holds after a power loss, too.
CREATE TABLE meta(
    one INTEGER PRIMARY KEY CHECK (one = 1),
    hwm INTEGER NOT NULL
);
INSERT INTO meta VALUES (1, 0);

-- A place in a line.  Times are wall clock microseconds; granted is 0 while
-- the place waits; slot is -1 for kinds that have none.  In the last row of a
-- line: its running total of places, of those that wait, and of weight (place.c).
CREATE TABLE place(
    line     TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    sid      INTEGER NOT NULL,
    weight   INTEGER NOT NULL,
    capacity INTEGER NOT NULL,
    claim    INTEGER NOT NULL,
    queued   INTEGER NOT NULL,
    granted  INTEGER NOT NULL,
    slot     INTEGER NOT NULL,
    note     TEXT    NOT NULL,
    places   INTEGER NOT NULL DEFAULT 0,
    waits    INTEGER NOT NULL DEFAULT 0,
    total    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (line, seq)
) WITHOUT ROWID;

-- A reason left at a place, by a client that would like it to be given up.  It stays when
-- the place goes, so that leaving costs nothing more; the next ASK removes it.
CREATE TABLE ask(
    line TEXT    NOT NULL,
    seq  INTEGER NOT NULL,
    why  TEXT    NOT NULL,
    PRIMARY KEY (line, seq)
) WITHOUT ROWID;

-- The history (history.h): a letter, HF_HISTORY_..., and the place at that time.  The last
-- row stays for its number, if need be without texts: numbers never come again.
CREATE TABLE past(
    number   INTEGER PRIMARY KEY,
    time     INTEGER NOT NULL,
    what     INTEGER NOT NULL,
    line     TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    weight   INTEGER NOT NULL,
    capacity INTEGER NOT NULL,
    claim    INTEGER NOT NULL,
    slot     INTEGER NOT NULL,
    note     TEXT    NOT NULL,
    reason   TEXT    NOT NULL
);
