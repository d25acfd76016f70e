-- What version 2 added: run on files of version 1, and on new ones after
-- schema.sql.  What was there stays as it is, so that programs of version 1
-- that have the file open can go on.

PRAGMA user_version = 2;

-- A word left at a ticket: somebody would like it to be given up.  It stays
-- when the ticket goes, which so costs nothing; the next one who leaves a word
-- clears it away.
CREATE TABLE ask(
    line TEXT    NOT NULL,
    seq  INTEGER NOT NULL,
    why  TEXT    NOT NULL,
    PRIMARY KEY (line, seq)
) WITHOUT ROWID;
