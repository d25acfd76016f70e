-- What version 3 added: run on files of version 2, and on others after upgrade.sql.  What was
-- there stays as it is, so that programs of version 2 that have the file open can go on; they
-- leave nothing in here.

PRAGMA user_version = 3;

-- One row: how many of the last things that happened are kept; 0: none.
CREATE TABLE history(
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    kept INTEGER NOT NULL
);
INSERT INTO history VALUES (1, 0);

-- What happened to a place in a line, by the numbers of the letters HF_PAST_... of store.h.
-- Numbers have no gaps.  When nothing is kept any more one row stays, with what = 0: the
-- numbers go on from there.
CREATE TABLE past(
    number   INTEGER PRIMARY KEY,
    time     INTEGER NOT NULL,
    what     INTEGER NOT NULL,
    line     TEXT    NOT NULL,
    token    INTEGER NOT NULL,
    weight   INTEGER NOT NULL,
    capacity INTEGER NOT NULL,
    claim    INTEGER NOT NULL,
    slot     INTEGER NOT NULL,
    note     TEXT    NOT NULL,
    reason   TEXT    NOT NULL
);
