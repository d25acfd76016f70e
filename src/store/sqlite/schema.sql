-- A new store.  Rows are notes; who lives is known to the kernel alone, by the bytes locked in
-- PATH-live (see live.h).  `PRAGMA user_version` is the layout: db.c.

PRAGMA application_id = 1215261796; -- "Hold"

-- One row.  No number above hwm has been given to a ticket yet; that is on the
-- disk before it is relied on, so it holds after a power loss too.
CREATE TABLE meta(
    one INTEGER PRIMARY KEY CHECK (one = 1),
    hwm INTEGER NOT NULL
);
INSERT INTO meta VALUES (1, 0);

-- A place in a line.  Times are wall clock microseconds; granted is 0 while
-- the ticket waits; slot is -1 for kinds that have none.  In the last row of a
-- line: how many places it has, how many wait, what all weigh (place.c).
CREATE TABLE ticket(
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

-- A word left at a ticket: somebody would like it to be given up.  It stays
-- when the ticket goes, which so costs nothing; the next one who leaves a word
-- clears it away.
CREATE TABLE ask(
    line TEXT    NOT NULL,
    seq  INTEGER NOT NULL,
    why  TEXT    NOT NULL,
    PRIMARY KEY (line, seq)
) WITHOUT ROWID;

-- What happened, if that is kept (see past.h): a letter, HF_PAST_..., and the ticket as it was.
-- The last row stays for its number, if need be without text: numbers never come again.
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
