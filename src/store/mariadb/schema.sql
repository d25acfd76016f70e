-- schema.sql - lines in a MariaDB database, and the functions that change them.
--
-- A session has a renewal number; every renewal draws a higher one from a sequence.  No time of
-- day ends a session.  A client that drew number n remembers when, by its own clock.  If that is
-- longer ago than the ttl of a session whose number is still below n, that session has not been
-- renewed since, and the client may expire it.
--
-- A line is a row that counts holders and waiters.  Every function locks it before it reads
-- anything else in the line, so places are numbered in the order of their commits.  The seq of a
-- place is also its token.
--
-- Every change is a stored function, called by a SELECT of its own: one statement and, under
-- autocommit, one transaction.  The server commits it as a whole or undoes it as a whole, whatever
-- ends it and whatever the caller does next.  A procedure has no such protection: a statement of it
-- that is killed leaves what came before, for the caller to commit.  So procedures only read, and
-- call functions.
--
-- MariaDB may swallow a KILL QUERY: the statement it strikes changes nothing, and the next one is
-- carried out.  So every change is followed by a look at ROW_COUNT(), and totals are written as
-- computed from what was read under the line's lock.
--
-- Within a function all plain reads see the same moment, that of the first of them, even after a
-- wait for a lock.  So what decides is read with a lock (FOR UPDATE, LOCK IN SHARE MODE).
--
-- Functions lock the caller's session first, then lines in the order of their names, then what is
-- sent to other sessions.  An answer is one text: a code and other words, with blanks between; then
-- items, each with a NUL before it.  A procedure answers with rows, the code first.  The codes: 0
-- done, 2 no such session, 3 the session has a newer connection, 4 the line is in use for another
-- kind of lock, 5 too many waiters, 6 no such place, 7 another version of the layout.
--
-- InnoDB shows a commit to others before it is on disk.  So a function whose answer somebody
-- relies on writes something: its own commit is on disk when it returns, and all before it are.
--
-- What the caller may set must not matter: times come from hf_clock(), numbers of rows from
-- UUID_SHORT().  Functions with SQL SECURITY INVOKER are for those below them: called directly by an
-- account that has only EXECUTE, they may do nothing.
--
-- Everything is called hf_..., so that the database may have other tables.  The script may be run
-- again.  schema.c puts a line in front of it that sets @hf_version, the version of this layout.
DELIMITER //
SET sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', NAMES utf8mb4 //

-- The account whose rights the functions have: nobody can log in with it, and it may do nothing
-- else.  Where we may not create it, they have the rights of the account that runs this script;
-- then schema.c leaves out every statement and clause that names it.
CREATE USER IF NOT EXISTS holdfast@localhost ACCOUNT LOCK //

-- Replace an older layout once it has no sessions.  hf_open() locks hf_head, so a session that
-- begins now is counted here or refused.  Version 0: this was begun, and is not complete.
CREATE TABLE IF NOT EXISTS hf_head (
    one     TINYINT PRIMARY KEY,
    version INT NOT NULL,
    floor   BIGINT NOT NULL -- highest token of all lines that were deleted
) ENGINE = InnoDB //
INSERT IGNORE INTO hf_head (one, version, floor) VALUES (1, 0, 0) //
BEGIN NOT ATOMIC
    DECLARE v_version, v_sessions, v_floor BIGINT DEFAULT 0;
    DECLARE v_text VARCHAR(200);
    DECLARE v_end INT DEFAULT 0;
    DECLARE routines CURSOR FOR
        SELECT CONCAT('DROP ', ROUTINE_TYPE, ' ', ROUTINE_NAME) FROM information_schema.ROUTINES
        WHERE ROUTINE_SCHEMA = DATABASE() AND ROUTINE_NAME LIKE 'hf\\_%';
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SELECT version INTO v_version FROM hf_head FOR UPDATE;
    IF v_version <> @hf_version THEN
        IF v_version <> 0 THEN -- else a client died while it made them, and any may be missing
            SELECT COUNT(*) INTO v_sessions FROM hf_session;
            IF v_version > @hf_version OR v_sessions > 0 THEN
                SET v_text = CONCAT('they are of version ', v_version, ', ours of ', @hf_version,
                                    ', with ', v_sessions, ' sessions in hf_session');
                SIGNAL SQLSTATE 'HF004' SET MESSAGE_TEXT = v_text;
            END IF;
            SELECT COALESCE(MAX(last), 0) INTO v_floor FROM hf_line;
            UPDATE hf_head SET version = 0, floor = GREATEST(floor, v_floor);
        END IF;
        COMMIT;
        OPEN routines;
        FETCH routines INTO v_text;
        WHILE NOT v_end DO
            EXECUTE IMMEDIATE v_text;
            FETCH routines INTO v_text;
        END WHILE;
        CLOSE routines;
        DROP TABLE IF EXISTS hf_session, hf_waker, hf_message, hf_line, hf_place, hf_watch, hf_log,
            hf_store_watcher, hf_changed, hf_history_entry, hf_era, hf_write, hf_sweeper;
        DROP SEQUENCE IF EXISTS hf_renewal;
        ALTER TABLE hf_head DROP COLUMN IF EXISTS swept; -- of version 1
    END IF;
    COMMIT;
END //

CREATE SEQUENCE IF NOT EXISTS hf_renewal ENGINE = InnoDB //

CREATE TABLE IF NOT EXISTS hf_session (
    sid        BINARY(16) PRIMARY KEY, -- hexadecimal digits
    connection BIGINT NOT NULL,
    renewal    BIGINT NOT NULL,
    renewed    BIGINT NOT NULL,     -- microseconds since 1970: see hf_expire_one()
    ttl        BIGINT NOT NULL,     -- milliseconds
    note       VARBINARY(255) NOT NULL, -- the client's version of Holdfast, for people
    log        TINYINT NOT NULL,    -- copy of hf_log.log
    KEY (renewal)
) ENGINE = InnoDB //

-- Messages that a session has not fetched yet.
CREATE TABLE IF NOT EXISTS hf_message (
    sid  BINARY(16) NOT NULL,
    n    BIGINT UNSIGNED NOT NULL, -- UUID_SHORT(), as below: an AUTO_INCREMENT obeys the caller's insert_id
    text VARBINARY(400) NOT NULL,
    PRIMARY KEY (sid, n)
) ENGINE = InnoDB //

CREATE TABLE IF NOT EXISTS hf_line (
    name     VARBINARY(255) PRIMARY KEY,
    capacity BIGINT  NOT NULL,
    claim    TINYINT NOT NULL,
    used     BIGINT  NOT NULL, -- total weight of all holders
    holders  BIGINT  NOT NULL,
    waiting  BIGINT  NOT NULL,
    last     BIGINT  NOT NULL, -- last token given out
    changes  BIGINT  NOT NULL,
    watched  TINYINT NOT NULL  -- hf_watch has a row for it
) ENGINE = InnoDB //

CREATE TABLE IF NOT EXISTS hf_place (
    sid      BINARY(16) NOT NULL,
    id       BIGINT  NOT NULL,
    name     VARBINARY(255) NOT NULL,
    seq      BIGINT  NOT NULL,
    weight   BIGINT  NOT NULL,
    claim    TINYINT NOT NULL,
    grant_secret VARBINARY(64) NOT NULL, -- the owner believes a message that grants the place only with it
    state    BINARY(1) NOT NULL, -- g granted, w waiting, b broken
    slot     BIGINT  NOT NULL,
    since    BIGINT  NOT NULL,   -- microseconds since 1970, for people
    asked    VARBINARY(8192),
    note     VARBINARY(8192) NOT NULL,
    PRIMARY KEY (sid, id),
    KEY (name, state, seq)
) ENGINE = InnoDB //

CREATE TABLE IF NOT EXISTS hf_watch (
    name VARBINARY(255) NOT NULL,
    sid  BINARY(16) NOT NULL,
    PRIMARY KEY (name, sid),
    KEY (sid)
) ENGINE = InnoDB //

-- The change log: what is written down when a line changes.
CREATE TABLE IF NOT EXISTS hf_log (
    one     TINYINT PRIMARY KEY,
    log     TINYINT NOT NULL, -- bits: 1 changed lines, for store watches; 2 history
    history BIGINT  NOT NULL, -- number of history entries to keep
    number  BIGINT  NOT NULL  -- of the newest entry
) ENGINE = InnoDB //
INSERT IGNORE INTO hf_log VALUES (1, 0, 0, 0) //

-- Sessions with a store watch, and for each of them the lines that changed since its last answer.
CREATE TABLE IF NOT EXISTS hf_store_watcher (
    sid   BINARY(16) PRIMARY KEY,
    stamp BIGINT NOT NULL -- of the last answer
) ENGINE = InnoDB //
CREATE TABLE IF NOT EXISTS hf_changed (
    sid   BINARY(16) NOT NULL,
    name  VARBINARY(255) NOT NULL,
    times BIGINT NOT NULL,
    PRIMARY KEY (sid, name)
) ENGINE = InnoDB //

-- hf_number_history() numbers the entries later: transactions do not commit in the order of id.
CREATE TABLE IF NOT EXISTS hf_history_entry (
    id       BIGINT UNSIGNED PRIMARY KEY,
    number   BIGINT,
    what     BINARY(1) NOT NULL, -- as HF_PAST_... of store.h
    time     BIGINT  NOT NULL,   -- microseconds since 1970
    name     VARBINARY(255) NOT NULL,
    seq      BIGINT  NOT NULL,
    weight   BIGINT  NOT NULL,
    capacity BIGINT  NOT NULL,
    claim    TINYINT NOT NULL,
    slot     BIGINT  NOT NULL,
    note     VARBINARY(8192) NOT NULL,
    reason   VARBINARY(8192),
    KEY (number)
) ENGINE = InnoDB //

-- The highest token that hf_fence() has seen for each lock.
CREATE TABLE IF NOT EXISTS hf_fence (
    name  VARBINARY(255) PRIMARY KEY,
    token BIGINT NOT NULL
) ENGINE = InnoDB //

-- The era: one run of one server.  A server that is started empties a MEMORY table, and the first
-- client then writes another number.
CREATE TABLE IF NOT EXISTS hf_era (
    one TINYINT PRIMARY KEY,
    era VARBINARY(64) NOT NULL
) ENGINE = MEMORY //

-- A row is written here by functions that change nothing else, so that their commit waits for the
-- disk.
CREATE TABLE IF NOT EXISTS hf_write (n BIGINT UNSIGNED PRIMARY KEY) ENGINE = InnoDB //

-- The last line that hf_sweep_lines() looked at.  Whoever has it locked is sweeping.
CREATE TABLE IF NOT EXISTS hf_sweeper (
    one  TINYINT PRIMARY KEY,
    name VARBINARY(255) NOT NULL
) ENGINE = InnoDB //
INSERT IGNORE INTO hf_sweeper VALUES (1, '') //

-- ---- For the functions below ----------------------------------------------------------------------

-- Microseconds since 1970.  NOW() and UTC_TIMESTAMP() obey the caller's `timestamp`, SYSDATE() its
-- time zone; UUID() obeys nothing.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_clock() RETURNS BIGINT
    DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
    DECLARE u CHAR(36) DEFAULT UUID();
    RETURN (CONV(CONCAT(SUBSTR(u, 16, 3), SUBSTR(u, 10, 4), SUBSTR(u, 1, 8)), 16, 10)
            - 122192928000000000) DIV 10;
END //

-- A call has to be a transaction of its own, even one that only reads: a SERIALIZABLE transaction
-- would keep what it has read locked.  A definer with all rights could write in spite of read_only.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_refuse() SQL SECURITY INVOKER
BEGIN
    IF @@read_only THEN
        SIGNAL SQLSTATE 'HF005' SET MESSAGE_TEXT = 'the server is read-only';
    END IF;
    SIGNAL SQLSTATE 'HF008'
        SET MESSAGE_TEXT = 'this connection has a transaction in progress, or autocommit = 0';
END //

-- A change did not take place.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_lost() SQL SECURITY INVOKER
BEGIN
    SIGNAL SQLSTATE 'HF009' SET MESSAGE_TEXT = 'a change was lost: a KILL QUERY?';
END //

CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_write_something() SQL SECURITY INVOKER
BEGIN
    DECLARE v_n BIGINT UNSIGNED DEFAULT UUID_SHORT();
    INSERT INTO hf_write VALUES (v_n);
    IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
    DELETE FROM hf_write WHERE n = v_n;
    IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
END //

-- Lock a session: until the call ends it cannot expire or get a newer connection.
-- p_code: 0, 2 or 3.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_check_session(
    p_sid VARBINARY(16), p_connection BIGINT, OUT p_code INT, OUT p_log INT) SQL SECURITY INVOKER
BEGIN
    DECLARE v_connection BIGINT DEFAULT NULL;
    SELECT connection, log INTO v_connection, p_log FROM hf_session
    WHERE sid = p_sid LOCK IN SHARE MODE;
    SET p_code = IF(v_connection IS NULL, 2, IF(v_connection = p_connection, 0, 3));
END //

-- Refuse invalid numbers and texts: every client would read such a row.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_check_shape(
    p_name LONGBLOB, p_weight BIGINT, p_capacity BIGINT, p_note LONGBLOB, p_grant_secret LONGBLOB)
    SQL SECURITY INVOKER
BEGIN
    IF (LENGTH(p_name) BETWEEN 1 AND 255 AND LOCATE(0x00, p_name) = 0 AND
        p_weight BETWEEN 1 AND p_capacity AND p_capacity <= 4294967295 AND
        LENGTH(p_note) <= 8192 AND LENGTH(p_grant_secret) <= 64) IS NOT TRUE THEN
        SIGNAL SQLSTATE 'HF007' SET MESSAGE_TEXT = 'the name, weight, capacity or note is invalid';
    END IF;
END //

-- Send a message to a session, and wake its connection that sleeps in hf_await(): the holder of the
-- user lock that this names.  The locks of a server end with it, so a number from before a restart
-- never ends the query of somebody else.
--
-- The connection is woken before the commit.  Whatever looks for messages then waits for the commit,
-- since it looks with a lock.  A connection that is gone, or is in no routine of ours, needs no
-- waking: it looks for messages before it sleeps again.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_send(
    p_sid VARBINARY(16), p_text VARBINARY(400)) SQL SECURITY INVOKER
BEGIN
    DECLARE v_thread BIGINT;
    DECLARE CONTINUE HANDLER FOR 1094, 1095 BEGIN END;
    IF p_text <> 's' THEN
        INSERT INTO hf_message VALUES (p_sid, UUID_SHORT(), p_text);
        IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
    END IF;
    SET v_thread = IS_USED_LOCK(CONCAT('holdfast.waker.', p_sid));
    IF v_thread IS NOT NULL THEN
        KILL QUERY v_thread;
    END IF;
END //

-- Lock the line's row, and insert it first if there is none.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_make_line(
    p_name VARBINARY(255), p_capacity BIGINT, p_claim TINYINT) SQL SECURITY INVOKER
BEGIN
    DECLARE v_there, v_floor BIGINT DEFAULT NULL;
    SELECT last INTO v_there FROM hf_line WHERE name = p_name FOR UPDATE;
    WHILE v_there IS NULL DO
        INSERT INTO hf_line VALUES (p_name, p_capacity, p_claim, 0, 0, 0, 0, hf_clock(), 0)
        ON DUPLICATE KEY UPDATE last = last;
        -- It may have waited for hf_sweep_lines(), which raises floor before it commits.
        SELECT floor INTO v_floor FROM hf_head LOCK IN SHARE MODE;
        UPDATE hf_line SET last = v_floor, changes = GREATEST(changes, v_floor)
        WHERE name = p_name AND last < v_floor;
        SELECT last INTO v_there FROM hf_line WHERE name = p_name AND last >= v_floor FOR UPDATE;
    END WHILE;
END //

-- The slot of the next holder: the lowest that no holder has.  Only a semaphore has slots.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_free_slot(
    p_name VARBINARY(255), p_capacity BIGINT, p_holders BIGINT, OUT p_slot BIGINT)
    SQL SECURITY INVOKER
BEGIN
    IF p_capacity IN (1, 4294967295) THEN
        SET p_slot = -1;
    ELSEIF p_holders = 0 THEN
        SET p_slot = 0;
    ELSE
        SELECT MIN(s) INTO p_slot FROM (
            SELECT 0 AS s UNION ALL
            (SELECT slot + 1 FROM hf_place WHERE name = p_name AND state = 'g' LOCK IN SHARE MODE)) AS x
        WHERE s NOT IN (SELECT slot FROM hf_place WHERE name = p_name AND state = 'g'
                        LOCK IN SHARE MODE);
    END IF;
END //

-- For the history: append an entry about a place, in its present state.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_note_history(
    p_what BINARY(1), p_sid VARBINARY(16), p_id BIGINT, p_why VARBINARY(8192)) SQL SECURITY INVOKER
BEGIN
    INSERT INTO hf_history_entry
    SELECT UUID_SHORT(), NULL, p_what, hf_clock(), p.name, p.seq, p.weight, l.capacity, p.claim,
           p.slot, p.note, p_why
    FROM hf_place p JOIN hf_line l ON l.name = p.name WHERE p.sid = p_sid AND p.id = p_id
    LOCK IN SHARE MODE;
    IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
END //

-- For watches and store watches: this line has changed.  The share lock on hf_log makes a store
-- watch that begins wait until this change can be seen; see hf_watch_store().  That on
-- hf_store_watcher makes a session that ends wait, which then deletes what is written for it here.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_note_change(
    p_name VARBINARY(255), p_watched INT, p_log INT) SQL SECURITY INVOKER
BEGIN
    DECLARE v_sid VARBINARY(16);
    DECLARE v_log, v_end, v_count INT DEFAULT 0;
    DECLARE watchers CURSOR FOR SELECT sid FROM hf_watch WHERE name = p_name FOR UPDATE;
    DECLARE store_watchers CURSOR FOR SELECT sid FROM hf_store_watcher LOCK IN SHARE MODE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;
    IF p_watched THEN
        OPEN watchers;
        FETCH watchers INTO v_sid;
        WHILE NOT v_end DO
            CALL hf_send(v_sid, CONCAT('c ', p_name));
            SET v_end = 0, v_count = v_count + 1;
            FETCH watchers INTO v_sid;
        END WHILE;
        CLOSE watchers;
        DELETE FROM hf_watch WHERE name = p_name;
        IF ROW_COUNT() <> v_count THEN CALL hf_lost(); END IF;
    END IF;
    IF p_log & 1 THEN
        SELECT log INTO v_log FROM hf_log LOCK IN SHARE MODE;
        SET v_end = 0;
        OPEN store_watchers;
        FETCH store_watchers INTO v_sid;
        WHILE NOT v_end DO
            INSERT INTO hf_changed VALUES (v_sid, p_name, 1)
            ON DUPLICATE KEY UPDATE times = times + 1;
            IF ROW_COUNT() = 0 THEN CALL hf_lost(); END IF;
            CALL hf_send(v_sid, 's');
            SET v_end = 0;
            FETCH store_watchers INTO v_sid;
        END WHILE;
        CLOSE store_watchers;
    END IF;
END //

-- What the totals of a line should be.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_count(
    p_name VARBINARY(255), OUT p_used BIGINT, OUT p_holders BIGINT, OUT p_waiting BIGINT)
    SQL SECURITY INVOKER
BEGIN
    SELECT COALESCE(SUM(IF(state = 'g', weight, 0)), 0), COUNT(IF(state = 'g', 1, NULL)),
           COUNT(IF(state = 'w', 1, NULL))
    INTO p_used, p_holders, p_waiting FROM hf_place WHERE name = p_name FOR UPDATE;
END //

-- A line has changed, and these are its totals now; the caller has its row locked.  Grant waiters in
-- order while they fit, and notify each of them except p_sid and p_id, which learns it from the
-- answer.  Totals that cannot be, because somebody has changed them by hand, are counted.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_settle(
    p_name VARBINARY(255), p_used BIGINT, p_holders BIGINT, p_waiting BIGINT,
    p_sid VARBINARY(16), p_id BIGINT, p_log INT) SQL SECURITY INVOKER
BEGIN
    DECLARE v_capacity, v_id, v_weight, v_slot, v_since BIGINT;
    DECLARE v_watched INT DEFAULT NULL;
    DECLARE v_sid VARBINARY(16);
    DECLARE v_secret VARBINARY(64);
    SELECT capacity, watched INTO v_capacity, v_watched FROM hf_line WHERE name = p_name FOR UPDATE;
    IF LEAST(p_used, p_holders, p_waiting) < 0 THEN
        CALL hf_count(p_name, p_used, p_holders, p_waiting);
    END IF;
    grant_next: WHILE p_waiting > 0 DO
        SET v_sid = NULL;
        SELECT sid, id, weight, grant_secret INTO v_sid, v_id, v_weight, v_secret FROM hf_place
        WHERE name = p_name AND state = 'w' ORDER BY seq LIMIT 1 FOR UPDATE;
        IF v_sid IS NULL THEN
            CALL hf_count(p_name, p_used, p_holders, p_waiting);
            ITERATE grant_next;
        END IF;
        IF p_used + v_weight > v_capacity THEN
            LEAVE grant_next;
        END IF;
        CALL hf_free_slot(p_name, v_capacity, p_holders, v_slot);
        SET v_since = hf_clock(), p_used = p_used + v_weight, p_holders = p_holders + 1,
            p_waiting = p_waiting - 1;
        UPDATE hf_place SET state = 'g', since = v_since, slot = v_slot
        WHERE sid = v_sid AND id = v_id;
        IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
        IF p_log >= 2 THEN
            CALL hf_note_history('g', v_sid, v_id, NULL);
        END IF;
        IF v_sid <> p_sid OR v_id <> p_id THEN
            CALL hf_send(v_sid, CONCAT_WS(' ', 'g', v_id, v_slot, v_since, v_secret));
        END IF;
    END WHILE;
    UPDATE hf_line SET used = p_used, holders = p_holders, waiting = p_waiting,
        changes = changes + 1, watched = 0 WHERE name = p_name;
    IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
    IF v_watched OR p_log & 1 THEN
        CALL hf_note_change(p_name, v_watched, p_log);
    END IF;
END //

-- Remove a session, whose row is locked, with everything that belongs to it.  p_what is the history
-- entry for a place that was granted: r if its owner released it.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_remove_session(
    p_sid VARBINARY(16), p_log INT, p_what BINARY(1)) SQL SECURITY INVOKER
BEGIN
    DECLARE v_name, v_line VARBINARY(255) DEFAULT NULL;
    DECLARE v_id, v_weight, v_used, v_holders, v_waiting BIGINT;
    DECLARE v_state BINARY(1);
    DECLARE v_end, v_left INT DEFAULT 0;
    -- Names only: a place may be granted until we have its line's lock.
    DECLARE places CURSOR FOR SELECT name, id FROM hf_place WHERE sid = p_sid ORDER BY name, id;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;
    DELETE FROM hf_session WHERE sid = p_sid;
    IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
    OPEN places;
    FETCH places INTO v_name, v_id;
    WHILE NOT v_end DO
        IF v_line IS NULL OR v_line <> v_name THEN
            SET v_line = v_name, v_used = NULL;
            SELECT used, holders, waiting INTO v_used, v_holders, v_waiting FROM hf_line
            WHERE name = v_name FOR UPDATE;
            IF v_used IS NULL THEN -- somebody has deleted it by hand
                CALL hf_make_line(v_name, 1, 0);
                CALL hf_count(v_name, v_used, v_holders, v_waiting);
            END IF;
        END IF;
        SET v_state = NULL;
        SELECT state, weight INTO v_state, v_weight FROM hf_place WHERE sid = p_sid AND id = v_id
        FOR UPDATE;
        IF v_state <> 'b' THEN
            IF p_log >= 2 THEN
                CALL hf_note_history(IF(v_state = 'g', p_what, 'l'), p_sid, v_id, NULL);
            END IF;
            SET v_used = v_used - IF(v_state = 'g', v_weight, 0),
                v_holders = v_holders - (v_state = 'g'), v_waiting = v_waiting - (v_state = 'w');
        END IF;
        DELETE FROM hf_place WHERE sid = p_sid AND id = v_id;
        IF ROW_COUNT() <> 1 OR v_state IS NULL THEN CALL hf_lost(); END IF;
        SET v_end = 0;
        FETCH places INTO v_name, v_id;
        IF v_end OR v_name <> v_line THEN
            CALL hf_settle(v_line, v_used, v_holders, v_waiting, '', 0, p_log);
        END IF;
    END WHILE;
    CLOSE places;
    -- Whoever sends to us has one of these locked, and what it sends is deleted below.
    DELETE FROM hf_watch WHERE sid = p_sid;
    DELETE FROM hf_store_watcher WHERE sid = p_sid;
    CALL hf_send(p_sid, 'e'); -- its connection that sleeps may end
    DELETE FROM hf_message WHERE sid = p_sid;
    IF ROW_COUNT() = 0 THEN CALL hf_lost(); END IF;
    DELETE FROM hf_changed WHERE sid = p_sid;
    SELECT (SELECT COUNT(*) FROM hf_watch WHERE sid = p_sid LOCK IN SHARE MODE) +
           (SELECT COUNT(*) FROM hf_store_watcher WHERE sid = p_sid LOCK IN SHARE MODE) +
           (SELECT COUNT(*) FROM hf_changed WHERE sid = p_sid LOCK IN SHARE MODE) INTO v_left;
    IF v_left > 0 THEN CALL hf_lost(); END IF;
END //

-- How a place stands, for its owner.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_own_place(
    p_sid VARBINARY(16), p_id BIGINT) RETURNS VARBINARY(8500) DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_state BINARY(1) DEFAULT '-';
    DECLARE v_seq, v_since, v_weight, v_ahead BIGINT DEFAULT 0;
    DECLARE v_slot BIGINT DEFAULT -1;
    DECLARE v_asked VARBINARY(8192);
    DECLARE v_name VARBINARY(255);
    SELECT state, seq, slot, since, weight, asked, name
    INTO v_state, v_seq, v_slot, v_since, v_weight, v_asked, v_name
    FROM hf_place WHERE sid = p_sid AND id = p_id AND state <> 'b' LOCK IN SHARE MODE;
    IF v_state = 'w' THEN
        SELECT COUNT(*) INTO v_ahead FROM hf_place
        WHERE name = v_name AND state IN ('g', 'w') AND seq < v_seq;
    END IF;
    RETURN CONCAT_WS(' ', 0, v_state, v_seq, v_slot, v_since, v_weight, v_ahead, v_asked);
END //

-- ---- Sessions -----------------------------------------------------------------------------------

-- Not for functions: they would lock this table as a whole until they end.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_find_era(OUT p_era VARBINARY(64))
    SQL SECURITY INVOKER
BEGIN
    DECLARE v_era VARBINARY(64) DEFAULT NULL;
    SELECT era INTO v_era FROM hf_era;
    IF v_era IS NULL THEN
        INSERT IGNORE INTO hf_era VALUES (1, UUID());
        SELECT era INTO v_era FROM hf_era;
    END IF;
    SET p_era = CONCAT_WS(' ', @@server_id, v_era); -- a replica has the same row
END //

-- See hf_hello().  Returns the session's new renewal number; or -2, -3 or -7, as the codes.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_open(
    p_version INT, p_sid VARBINARY(16), p_connection BIGINT, p_ttl BIGINT, p_fresh INT,
    p_note VARBINARY(255)) RETURNS BIGINT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_old, v_number BIGINT DEFAULT NULL;
    DECLARE v_version, v_log INT DEFAULT 0;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    SELECT version INTO v_version FROM hf_head LOCK IN SHARE MODE;
    IF v_version <> p_version THEN
        RETURN -7;
    END IF;
    IF p_fresh THEN
        SELECT log INTO v_log FROM hf_log LOCK IN SHARE MODE; -- not while hf_set_log() writes
        INSERT IGNORE INTO hf_session
        VALUES (p_sid, p_connection, NEXTVAL(hf_renewal), hf_clock(), p_ttl, p_note, v_log);
    END IF;
    SELECT connection INTO v_old FROM hf_session WHERE sid = p_sid FOR UPDATE;
    IF v_old IS NULL OR v_old > p_connection THEN
        RETURN IF(v_old IS NULL, -2, -3);
    END IF;
    SET v_number = NEXTVAL(hf_renewal);
    UPDATE hf_session SET connection = p_connection, renewal = v_number, ttl = p_ttl,
        renewed = hf_clock() WHERE sid = p_sid;
    IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
    RETURN v_number;
END //

-- Open a session (p_fresh), or move one that exists to a new connection.  p_former: the server's
-- number of the old connection, or 0.  A call there may still be waiting for a lock, so it is ended;
-- but only if it has the user lock that our connections take at first, which has the name of the
-- session, and only while it is in one of our routines.  hf_hello() has the same arguments in every
-- layout, so that each layout can refuse the clients of all others.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_hello(
    p_version INT, p_sid VARBINARY(16), p_connection BIGINT, p_ttl BIGINT, p_fresh INT,
    p_note VARBINARY(255), p_former BIGINT, p_era VARBINARY(64)) SQL SECURITY DEFINER
BEGIN
    DECLARE v_number BIGINT;
    DECLARE v_version INT;
    DECLARE v_era VARBINARY(64);
    IF EXISTS (SELECT 1 FROM information_schema.GLOBAL_VARIABLES
               WHERE VARIABLE_NAME = 'WSREP_ON' AND VARIABLE_VALUE = 'ON') THEN
        SIGNAL SQLSTATE 'HF006' SET MESSAGE_TEXT = 'the server is part of a Galera cluster';
    END IF;
    IF p_ttl NOT BETWEEN 500 AND 3600000 OR p_sid NOT RLIKE '^[0-9a-f]{16}$' THEN
        SIGNAL SQLSTATE 'HF007' SET MESSAGE_TEXT = 'the session or its ttl is invalid';
    END IF;
    IF IS_USED_LOCK(CONCAT('holdfast.', p_sid, '.', p_former)) = p_former AND
        p_former <> CONNECTION_ID() THEN
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1094, 1095 BEGIN END;
            KILL CONNECTION p_former;
        END;
    END IF;
    CALL hf_find_era(v_era);
    SELECT hf_open(p_version, p_sid, p_connection, p_ttl, p_fresh, p_note) INTO v_number;
    SELECT version INTO v_version FROM hf_head;
    SELECT CAST(IF(v_number < 0, -v_number, 0) AS SIGNED), v_version, CONNECTION_ID(),
           GREATEST(v_number, 0), v_era;
END //

-- Returns the new number, or -2 or -3.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_prolong(
    p_sid VARBINARY(16), p_connection BIGINT) RETURNS BIGINT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_connection, v_number BIGINT DEFAULT NULL;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    -- No share lock first: two such calls would wait for each other.
    SELECT connection INTO v_connection FROM hf_session WHERE sid = p_sid FOR UPDATE;
    IF v_connection IS NULL OR NOT v_connection <=> p_connection THEN
        RETURN IF(v_connection IS NULL, -2, -3);
    END IF;
    SET v_number = NEXTVAL(hf_renewal); -- with the row's lock: a commit in another order is no harm
    UPDATE hf_session SET renewal = v_number, renewed = hf_clock() WHERE sid = p_sid;
    IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
    RETURN v_number;
END //

-- Renew the caller's session.  The first row has its new number and the era.  More rows tell of the
-- sessions at the head of lines that the caller waits for: each ttl, and the lowest renewal number
-- of a session with that ttl.  The renewal is committed before these are read, or a client that saw
-- an older number would expire us too early.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_renew(
    p_sid VARBINARY(16), p_connection BIGINT) SQL SECURITY DEFINER
me: BEGIN
    DECLARE v_number BIGINT;
    DECLARE v_era VARBINARY(64);
    SELECT hf_prolong(p_sid, p_connection) INTO v_number;
    IF v_number < 0 THEN
        SELECT CAST(-v_number AS SIGNED), 0, 0, '';
        LEAVE me;
    END IF;
    CALL hf_find_era(v_era);
    SELECT 0, v_number, 0, v_era
    UNION ALL
    SELECT 0, MIN(s.renewal), s.ttl, NULL
    FROM (SELECT name FROM hf_place WHERE sid = p_sid AND state = 'w'
          UNION SELECT name FROM hf_watch WHERE sid = p_sid LIMIT 64) AS mine
         JOIN hf_place h ON h.name = mine.name AND
             (h.state = 'g' AND h.seq <= COALESCE(
                  (SELECT seq FROM hf_place WHERE name = mine.name AND state = 'g'
                   ORDER BY seq LIMIT 1 OFFSET 7), 9223372036854775807) OR
              h.state = 'w' AND h.seq <= COALESCE(
                  (SELECT seq FROM hf_place WHERE name = mine.name AND state = 'w'
                   ORDER BY seq LIMIT 1 OFFSET 7), 9223372036854775807))
         JOIN hf_session s ON s.sid = h.sid
    WHERE s.sid <> p_sid GROUP BY s.ttl
    UNION ALL -- a store watch wants to know of every dead session
    SELECT 0, MIN(s.renewal), s.ttl, NULL FROM hf_session s
    WHERE s.sid <> p_sid AND EXISTS (SELECT 1 FROM hf_store_watcher WHERE sid = p_sid)
    GROUP BY s.ttl;
END //

-- The messages for a session, each once, as items; the second word is 1 if lines of its store watch
-- have changed.  They are on disk then, with all that they tell of.  p_bed: from now on this
-- connection has the lock that hf_await() waits for.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_fetch(
    p_sid VARBINARY(16), p_connection BIGINT, p_bed INT) RETURNS MEDIUMBLOB DETERMINISTIC MODIFIES SQL DATA
    SQL SECURITY DEFINER
BEGIN
    DECLARE v_code, v_log, v_changed INT DEFAULT 0;
    DECLARE v_n BIGINT UNSIGNED;
    DECLARE v_text VARBINARY(400);
    DECLARE v_answer MEDIUMBLOB;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    IF p_bed AND COALESCE(IS_USED_LOCK(CONCAT('holdfast.', p_sid)), 0) <> CONNECTION_ID() THEN
        DO GET_LOCK(CONCAT('holdfast.', p_sid), 0); -- an old connection may still have it
    END IF;
    CALL hf_check_session(p_sid, p_connection, v_code, v_log);
    IF v_code <> 0 THEN
        RETURN v_code;
    END IF;
    IF v_log & 1 THEN
        SELECT 1 INTO v_changed FROM hf_changed WHERE sid = p_sid LIMIT 1 LOCK IN SHARE MODE;
    END IF;
    SET v_answer = CONCAT_WS(' ', 0, v_changed);
    each_message: LOOP
        SET v_n = NULL;
        SELECT n, text INTO v_n, v_text FROM hf_message WHERE sid = p_sid ORDER BY n LIMIT 1
        FOR UPDATE;
        IF v_n IS NULL OR LENGTH(v_answer) > 100000 THEN
            LEAVE each_message;
        END IF;
        DELETE FROM hf_message WHERE sid = p_sid AND n = v_n;
        IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
        SET v_answer = CONCAT(v_answer, 0x00, v_text);
    END LOOP;
    RETURN v_answer;
END //

-- Sleep until there are messages, on a connection of its own.  hf_send() ends the CALL with error
-- 1317.  First take the user lock by which that finds us, then look, then sleep: a message that is
-- written before we have the lock is found by the look, which waits for its commit, and any other
-- wakes us, in whatever statement we are.  p_store: a changed line of the store watch counts as a
-- message.
--
-- It sleeps by waiting for a lock that the session's other connection has, see hf_fetch(); so it also
-- ends with that connection.  SLEEP() would not do: all of a server's have one mutex, and KILL QUERY
-- of one that is about to sleep keeps that, and so every other sleeper, for two seconds (MariaDB 10.11).
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_await(
    p_sid VARBINARY(16), p_milliseconds BIGINT, p_store INT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_me VARBINARY(64) DEFAULT CONCAT('holdfast.waker.', p_sid);
    DECLARE v_other, v_there BIGINT DEFAULT NULL;
    DECLARE v_news, v_slept INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR 1094, 1095 BEGIN END;
    -- Killed between two looks, a transaction of the caller would keep what the first one locked.
    ROLLBACK AND NO CHAIN NO RELEASE;
    SET autocommit = 1;
    SET v_other = IS_USED_LOCK(v_me);
    IF NOT v_other <=> CONNECTION_ID() THEN
        IF v_other IS NOT NULL THEN
            KILL CONNECTION v_other; -- an older one of the same session
        END IF;
        IF NOT GET_LOCK(v_me, 0.2) THEN
            SET v_news = 1, v_slept = 1; -- poll until it is gone
        END IF;
    END IF;
    IF NOT v_news THEN
        SELECT 1 INTO v_news FROM hf_message WHERE sid = p_sid LIMIT 1 LOCK IN SHARE MODE;
    END IF;
    IF p_store AND NOT v_news THEN
        SELECT 1 INTO v_news FROM hf_changed WHERE sid = p_sid LIMIT 1 LOCK IN SHARE MODE;
    END IF;
    SELECT connection INTO v_there FROM hf_session WHERE sid = p_sid;
    IF v_there IS NOT NULL AND NOT v_news THEN
        SET v_slept = 1;
        IF GET_LOCK(CONCAT('holdfast.', p_sid), p_milliseconds / 1000) THEN
            DO RELEASE_LOCK(CONCAT('holdfast.', p_sid)); -- nobody had it
        END IF;
    END IF;
    SELECT IF(v_there IS NULL, 2, 0), v_slept;
END //

-- For administrators: end a session with all its places.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_expire(p_sid VARBINARY(16)) RETURNS INT
    DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_log INT DEFAULT NULL;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    SELECT log INTO v_log FROM hf_session WHERE sid = p_sid FOR UPDATE;
    IF v_log IS NULL THEN
        RETURN 2;
    END IF;
    CALL hf_remove_session(p_sid, v_log, 'x');
    RETURN 0;
END //

-- End one session that has been silent for too long, except p_sid: was there one?  See
-- hf_expire_silent().
--
-- A caller could invent an age, so the server's clock is a second check: a session that the server
-- saw renewed within its ttl stays.  If that clock was set back, `renewed` may be in the future;
-- then only the caller's numbers count.  So a wrong clock keeps a dead session for one more ttl at
-- most.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_expire_one(
    p_sid VARBINARY(16), p_number BIGINT, p_age BIGINT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_now BIGINT DEFAULT hf_clock();
    DECLARE v_log INT;
    DECLARE v_dead VARBINARY(16) DEFAULT NULL;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    -- A session that is locked is at work, or another call is ending it.
    SELECT sid, log INTO v_dead, v_log FROM hf_session AS s -- with an alias: see hf_sweep_lines()
    WHERE renewal <= p_number AND ttl * 501 <= p_age * 500 AND sid <> p_sid AND
        v_now - renewed NOT BETWEEN 0 AND ttl * 1000 - 1
    ORDER BY renewal LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF v_dead IS NULL THEN
        RETURN 0;
    END IF;
    CALL hf_remove_session(v_dead, v_log, 'x');
    RETURN 1;
END //

-- End sessions that have been silent for too long, except p_sid: up to 100, each in a transaction of
-- its own.  p_drawn is "number age,number age,...": the caller drew each number so many
-- milliseconds ago, by its own clock.  A session expires if one of these numbers is not lower than
-- its own and is older than its ttl, plus an allowance for clock drift.  The answer says how many
-- have expired; if that is not 0 the caller calls again.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_expire_silent(
    p_sid VARBINARY(16), p_era VARBINARY(64), p_drawn VARBINARY(4096)) SQL SECURITY DEFINER
BEGIN
    DECLARE v_era VARBINARY(64);
    DECLARE v_pair VARBINARY(64);
    DECLARE v_number, v_age BIGINT;
    DECLARE v_ended, v_count INT DEFAULT 0;
    IF @@in_transaction OR NOT @@autocommit THEN CALL hf_refuse(); END IF;
    CALL hf_find_era(v_era);
    WHILE p_drawn <> '' AND p_era = v_era AND v_count < 100 DO
        SET v_pair = SUBSTRING_INDEX(p_drawn, ',', 1);
        SET v_number = SUBSTRING_INDEX(v_pair, ' ', 1), v_age = SUBSTRING_INDEX(v_pair, ' ', -1);
        -- A look is cheaper than a call, which opens all tables.
        SELECT COUNT(*) INTO v_ended FROM (SELECT 1 FROM hf_session
            WHERE renewal <= v_number AND ttl * 501 <= v_age * 500 AND sid <> p_sid LIMIT 1) AS x;
        IF v_ended THEN
            SELECT hf_expire_one(p_sid, v_number, v_age) INTO v_ended;
        END IF;
        IF v_ended THEN
            SET v_count = v_count + 1;
        ELSE
            SET p_drawn = SUBSTRING(p_drawn, LENGTH(v_pair) + 2);
        END IF;
    END WHILE;
    SELECT 0, v_count;
END //

-- Look at the next p_most lines, in the order of names, and delete those that are empty and have
-- been for a minute (or at all, if there are no sessions).  hf_head.floor keeps their highest token.
-- Returns how many.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_sweep_lines(p_most INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA
    SQL SECURITY INVOKER
BEGIN
    DECLARE v_from, v_name VARBINARY(255) DEFAULT NULL;
    DECLARE v_until, v_last, v_floor BIGINT DEFAULT 0;
    DECLARE v_end, v_seen, v_watchers, v_count INT DEFAULT 0;
    DECLARE next_lines CURSOR FOR
        (SELECT name FROM hf_line WHERE name > v_from ORDER BY name LIMIT p_most)
        UNION ALL (SELECT name FROM hf_line WHERE name <= v_from ORDER BY name LIMIT p_most);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    -- With an alias: a table that the same function writes is otherwise locked without SKIP LOCKED.
    SELECT name INTO v_from FROM hf_sweeper AS s FOR UPDATE SKIP LOCKED;
    IF v_from IS NULL THEN -- another client is sweeping
        RETURN 0;
    END IF;
    SELECT IF(EXISTS (SELECT 1 FROM hf_session), hf_clock() - 60000000, 9223372036854775807), 0
    INTO v_until, v_end;
    OPEN next_lines;
    FETCH next_lines INTO v_name;
    WHILE NOT v_end AND v_seen < p_most DO
        SET v_last = NULL;
        SELECT last INTO v_last FROM hf_line AS l
        WHERE name = v_name AND holders = 0 AND waiting = 0 AND last < v_until
        FOR UPDATE SKIP LOCKED;
        IF v_last IS NOT NULL THEN
            SELECT COUNT(*) INTO v_watchers FROM hf_watch WHERE name = v_name LOCK IN SHARE MODE;
            IF v_watchers = 0 THEN
                DELETE FROM hf_line WHERE name = v_name;
                IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
                SET v_count = v_count + 1, v_floor = GREATEST(v_floor, v_last);
            END IF;
        END IF;
        SET v_from = v_name, v_seen = v_seen + 1, v_end = 0;
        FETCH next_lines INTO v_name;
    END WHILE;
    CLOSE next_lines;
    UPDATE hf_sweeper SET name = IF(v_seen > 0, v_from, '');
    UPDATE hf_head SET floor = GREATEST(floor, v_floor);
    SELECT floor INTO v_last FROM hf_head FOR UPDATE;
    IF v_last < v_floor THEN CALL hf_lost(); END IF;
    RETURN v_count;
END //

-- Trim the change log, and turn it off if no store watch is left.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_tend_log() RETURNS INT DETERMINISTIC MODIFIES SQL DATA
    SQL SECURITY INVOKER
BEGIN
    DECLARE v_log, v_watchers INT DEFAULT 0;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    SELECT log INTO v_log FROM hf_log AS l FOR UPDATE SKIP LOCKED; -- see hf_sweep_lines()
    IF v_log & 1 THEN
        SELECT COUNT(*) INTO v_watchers FROM hf_store_watcher LOCK IN SHARE MODE;
        IF v_watchers = 0 THEN
            CALL hf_set_log(v_log - 1);
        END IF;
    END IF;
    RETURN IF(v_log >= 2, hf_number_history(), 0) > 0;
END //

CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_sweep(p_most INT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_log, v_count INT DEFAULT 0;
    IF @@in_transaction OR NOT @@autocommit THEN CALL hf_refuse(); END IF;
    SELECT log INTO v_log FROM hf_log;
    IF v_log > 0 THEN
        SELECT hf_tend_log() INTO v_log;
    END IF;
    SELECT hf_sweep_lines(LEAST(p_most, 10000)) INTO v_count;
    SELECT 0, v_count;
END //

CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_close(
    p_sid VARBINARY(16), p_connection BIGINT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_connection BIGINT DEFAULT NULL;
    DECLARE v_log INT DEFAULT 0;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    SELECT connection, log INTO v_connection, v_log FROM hf_session WHERE sid = p_sid FOR UPDATE;
    IF v_connection IS NULL OR v_connection <> COALESCE(p_connection, v_connection) THEN
        IF p_connection IS NULL THEN
            CALL hf_write_something();
        END IF;
        RETURN 2;
    END IF;
    CALL hf_remove_session(p_sid, v_log, IF(p_connection IS NULL, 'x', 'r'));
    RETURN 0;
END //

-- End a session.  p_connection is NULL if the caller has a session key: then any connection will
-- do, the owner is notified in case it is alive, and the end of the session, by this call or an
-- earlier one, is on disk before the answer.  Callers do not check the version first, so hf_bye() has
-- the same arguments and answers in every layout, too.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_bye(
    p_sid VARBINARY(16), p_connection BIGINT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_code, v_count INT;
    SELECT hf_close(p_sid, p_connection) INTO v_code;
    SELECT v_code;
    IF v_code = 0 AND p_connection IS NOT NULL THEN
        SELECT hf_sweep_lines(100) INTO v_count;
    END IF;
END //

-- ---- Places -------------------------------------------------------------------------------------

CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_enter(
    p_sid VARBINARY(16), p_connection BIGINT, p_id BIGINT, p_name LONGBLOB, p_weight BIGINT,
    p_capacity BIGINT, p_claim INT, p_only_free INT, p_limit BIGINT, p_note LONGBLOB,
    p_grant_secret LONGBLOB) RETURNS VARBINARY(8500) DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_log, v_line_claim, v_watched, v_waits, v_code INT DEFAULT NULL;
    DECLARE v_capacity, v_used, v_holders, v_waiting, v_last, v_seq, v_since, v_slot BIGINT;
    DECLARE v_answer VARBINARY(8500);
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    CALL hf_check_shape(p_name, p_weight, p_capacity, p_note, p_grant_secret);
    SELECT log INTO v_log FROM hf_session
    WHERE sid = p_sid AND connection = p_connection LOCK IN SHARE MODE;
    IF v_log IS NULL THEN
        CALL hf_check_session(p_sid, p_connection, v_code, v_log);
        RETURN IF(v_code = 0, 3, v_code);
    END IF;
    SELECT capacity, claim, used, holders, waiting, last, watched
    INTO v_capacity, v_line_claim, v_used, v_holders, v_waiting, v_last, v_watched
    FROM hf_line WHERE name = p_name FOR UPDATE;
    IF v_capacity IS NULL THEN
        CALL hf_make_line(p_name, p_capacity, p_claim);
        SELECT capacity, claim, used, holders, waiting, last, watched
        INTO v_capacity, v_line_claim, v_used, v_holders, v_waiting, v_last, v_watched
        FROM hf_line WHERE name = p_name LOCK IN SHARE MODE;
    END IF;
    -- The rule: a place is granted if nobody waits ahead of it and it fits beside the holders.
    SET v_waits = NOT (v_waiting = 0 AND v_used + p_weight <= p_capacity);
    IF v_holders + v_waiting > 0 AND (v_capacity <> p_capacity OR v_line_claim <> p_claim) THEN
        SET v_code = 4;
    ELSEIF v_waits AND p_only_free THEN
        SET v_code = 0;
    ELSEIF v_waits AND p_limit > 0 AND v_waiting >= p_limit THEN
        SET v_code = 5;
    END IF;
    IF v_code IS NOT NULL AND NOT EXISTS (SELECT 1 FROM hf_place WHERE sid = p_sid AND id = p_id) THEN
        -- with the seq of a place that is in the way
        SELECT CONCAT_WS(' ', v_code, 'r', COALESCE(MAX(seq), 0)) INTO v_answer FROM hf_place
        WHERE name = p_name AND state IN ('g', 'w');
        RETURN v_answer;
    END IF;
    SET v_slot = -1, v_since = hf_clock();
    SET v_seq = GREATEST(v_last + 1, v_since);
    IF NOT v_waits AND p_capacity NOT IN (1, 4294967295) THEN
        CALL hf_free_slot(p_name, p_capacity, v_holders, v_slot);
    END IF;
    INSERT IGNORE INTO hf_place VALUES (p_sid, p_id, p_name, v_seq, p_weight, p_claim,
        p_grant_secret, IF(v_waits, 'w', 'g'), v_slot, v_since, NULL, p_note);
    IF ROW_COUNT() <> 1 THEN -- a repeat: the first answer was lost
        CALL hf_write_something();
        SELECT COUNT(*) INTO v_code FROM hf_place WHERE sid = p_sid AND id = p_id LOCK IN SHARE MODE;
        IF v_code <> 1 THEN CALL hf_lost(); END IF;
        RETURN hf_own_place(p_sid, p_id);
    END IF;
    UPDATE hf_line SET capacity = p_capacity, claim = p_claim, changes = changes + 1, last = v_seq,
        used = v_used + IF(v_waits, 0, p_weight), holders = v_holders + (NOT v_waits),
        waiting = v_waiting + v_waits, watched = 0 WHERE name = p_name;
    IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
    IF v_log >= 2 THEN
        CALL hf_note_history(IF(v_waits, 'e', 'g'), p_sid, p_id, NULL);
    END IF;
    IF v_watched OR v_log & 1 THEN
        CALL hf_note_change(p_name, v_watched, v_log);
    END IF;
    RETURN CONCAT_WS(' ', 0, IF(v_waits, 'w', 'g'), v_seq, v_slot, v_since, p_weight,
                     IF(v_waits, v_holders + v_waiting, 0));
END //

-- The second word: was it broken?
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_leave(
    p_sid VARBINARY(16), p_connection BIGINT, p_id BIGINT, p_name LONGBLOB) RETURNS VARBINARY(100)
    DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_code, v_log, v_watched INT DEFAULT NULL;
    DECLARE v_weight, v_used, v_holders, v_waiting BIGINT;
    DECLARE v_state BINARY(1) DEFAULT '-';
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    SELECT log INTO v_log FROM hf_session
    WHERE sid = p_sid AND connection = p_connection LOCK IN SHARE MODE;
    IF v_log IS NULL THEN
        CALL hf_check_session(p_sid, p_connection, v_code, v_log);
        RETURN CONCAT_WS(' ', IF(v_code = 0, 3, v_code), 0);
    END IF;
    SELECT used, holders, waiting, watched INTO v_used, v_holders, v_waiting, v_watched
    FROM hf_line WHERE name = p_name FOR UPDATE;
    SELECT state, weight INTO v_state, v_weight FROM hf_place
    WHERE sid = p_sid AND id = p_id AND name = p_name FOR UPDATE;
    IF v_state NOT IN ('g', 'w') THEN
        CALL hf_write_something();
        RETURN CONCAT_WS(' ', 0, v_state = 'b');
    END IF;
    IF v_log >= 2 THEN
        CALL hf_note_history(IF(v_state = 'g', 'r', 'l'), p_sid, p_id, NULL);
    END IF;
    DELETE FROM hf_place WHERE sid = p_sid AND id = p_id;
    IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
    SET v_used = v_used - IF(v_state = 'g', v_weight, 0), v_holders = v_holders - (v_state = 'g');
    IF v_waiting = 0 AND NOT v_watched AND v_log = 0 AND LEAST(v_used, v_holders) >= 0 THEN
        UPDATE hf_line SET used = v_used, holders = v_holders, changes = changes + 1
        WHERE name = p_name; -- nobody to notify, nothing to log
        IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
    ELSE
        CALL hf_settle(p_name, v_used, v_holders, v_waiting - (v_state = 'w'), '', 0, v_log);
    END IF;
    RETURN '0 0';
END //

CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_read(
    p_sid VARBINARY(16), p_connection BIGINT, p_id BIGINT) RETURNS VARBINARY(8500) DETERMINISTIC MODIFIES SQL DATA
    SQL SECURITY DEFINER
BEGIN
    DECLARE v_code, v_log INT;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    CALL hf_check_session(p_sid, p_connection, v_code, v_log);
    IF v_code <> 0 THEN
        RETURN CONCAT_WS(' ', v_code, '-');
    END IF;
    CALL hf_write_something();
    RETURN hf_own_place(p_sid, p_id);
END //

CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_downgrade(
    p_sid VARBINARY(16), p_connection BIGINT, p_id BIGINT, p_weight BIGINT) RETURNS VARBINARY(8500)
    DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_code, v_log INT;
    DECLARE v_name VARBINARY(255) DEFAULT NULL;
    DECLARE v_weight, v_used, v_holders, v_waiting BIGINT;
    DECLARE v_state BINARY(1) DEFAULT '-';
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    CALL hf_check_session(p_sid, p_connection, v_code, v_log);
    IF v_code <> 0 THEN
        RETURN CONCAT_WS(' ', v_code, '-');
    END IF;
    SELECT name INTO v_name FROM hf_place WHERE sid = p_sid AND id = p_id;
    SELECT used, holders, waiting INTO v_used, v_holders, v_waiting FROM hf_line
    WHERE name = v_name FOR UPDATE;
    -- With its name: by now the caller may have another place of that id, in another line.
    SELECT state, weight INTO v_state, v_weight FROM hf_place
    WHERE sid = p_sid AND id = p_id AND name = v_name FOR UPDATE;
    IF v_state IN ('g', 'w') AND p_weight < v_weight THEN
        CALL hf_check_shape(v_name, p_weight, v_weight, '', '');
        UPDATE hf_place SET weight = p_weight WHERE sid = p_sid AND id = p_id;
        IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
        IF v_log >= 2 THEN
            CALL hf_note_history('d', p_sid, p_id, NULL);
        END IF;
        CALL hf_settle(v_name, v_used - IF(v_state = 'g', v_weight - p_weight, 0), v_holders,
                       v_waiting, p_sid, p_id, v_log);
    ELSE
        CALL hf_write_something();
    END IF;
    RETURN hf_own_place(p_sid, p_id);
END //

-- Ask for one message when the line changes.  The second word 1: there will be none, because the
-- place p_seq has left already, or, if p_seq is 0, because the line has changed since p_stamp (0:
-- not known).
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_watch_line(
    p_sid VARBINARY(16), p_connection BIGINT, p_name LONGBLOB, p_stamp BIGINT, p_seq BIGINT)
    RETURNS VARBINARY(100) DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_code, v_log, v_watched, v_changed INT DEFAULT 0;
    DECLARE v_changes, v_places BIGINT DEFAULT NULL;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    CALL hf_check_shape(p_name, 1, 1, '', '');
    CALL hf_check_session(p_sid, p_connection, v_code, v_log);
    SELECT changes INTO v_changes FROM hf_line WHERE name = p_name;
    IF v_code <> 0 OR p_seq = 0 AND p_stamp <> 0 AND p_stamp <> COALESCE(v_changes, 1) THEN
        RETURN CONCAT_WS(' ', v_code, 1);
    END IF;
    CALL hf_make_line(p_name, 1, 0);
    SELECT changes, holders + waiting, watched INTO v_changes, v_places, v_watched FROM hf_line
    WHERE name = p_name FOR UPDATE;
    IF p_seq = 0 THEN -- stamp 1: there was no line, which is the same as an empty one
        SET v_changed = IF(p_stamp = 1, v_places > 0, p_stamp > 1 AND p_stamp <> v_changes);
    ELSE
        SELECT COUNT(*) = 0 INTO v_changed FROM hf_place
        WHERE name = p_name AND state IN ('g', 'w') AND seq = p_seq LOCK IN SHARE MODE;
    END IF;
    IF NOT v_changed THEN
        INSERT IGNORE INTO hf_watch VALUES (p_name, p_sid);
        SELECT COUNT(*) INTO v_places FROM hf_watch WHERE name = p_name AND sid = p_sid FOR UPDATE;
        IF v_places <> 1 THEN CALL hf_lost(); END IF;
        IF NOT v_watched THEN
            UPDATE hf_line SET watched = 1 WHERE name = p_name;
            IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
        END IF;
    END IF;
    RETURN CONCAT_WS(' ', 0, v_changed);
END //

-- ---- The store watch and history ------------------------------------------------------------------

-- Set what is written to the change log from now on.  Every session's row has a copy, since a
-- function that changes a line reads that row anyway.  The UPDATE waits for calls of these sessions
-- that are in progress, so once this is committed no change goes unrecorded.  The caller has locked
-- hf_log, and no session before it.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_set_log(p_log INT) SQL SECURITY INVOKER
BEGIN
    DECLARE v_other INT;
    UPDATE hf_log SET log = p_log WHERE log <> p_log;
    UPDATE hf_session SET log = p_log WHERE log <> p_log;
    SELECT (SELECT COUNT(*) FROM hf_log WHERE log <> p_log) INTO v_other;
    IF v_other > 0 THEN CALL hf_lost(); END IF;
END //

-- Which lines have changed since the answer with that stamp?  The words are { 0, stamp, 0, all may
-- have }, the items names of lines.  p_end: the caller's store watch ends.
--
-- A store watch that begins locks hf_log: every change that does not know of it is committed by
-- then, and every later one does.  One that goes on locks its own row for writing, so no change is
-- being written for it meanwhile.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_watch_store(
    p_sid VARBINARY(16), p_connection BIGINT, p_stamp BIGINT, p_end INT) RETURNS MEDIUMBLOB DETERMINISTIC MODIFIES SQL DATA
    SQL SECURITY DEFINER
BEGIN
    DECLARE v_code, v_log, v_mine, v_new, v_end, v_watchers INT DEFAULT 0;
    DECLARE v_stamp, v_count BIGINT DEFAULT 0;
    DECLARE v_name VARBINARY(255);
    DECLARE v_names MEDIUMBLOB DEFAULT '';
    DECLARE changed CURSOR FOR SELECT name FROM hf_changed WHERE sid = p_sid FOR UPDATE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    SELECT COUNT(*) = 0 INTO v_new FROM hf_store_watcher WHERE sid = p_sid AND stamp = p_stamp;
    IF v_new OR p_end THEN -- lock this before the session
        SELECT log INTO v_log FROM hf_log FOR UPDATE;
    END IF;
    CALL hf_check_session(p_sid, p_connection, v_code, v_mine);
    IF v_code <> 0 THEN
        RETURN CONCAT_WS(' ', v_code, 0, 0, 0);
    END IF;
    IF v_new OR p_end THEN
        DELETE FROM hf_store_watcher WHERE sid = p_sid;
        DELETE FROM hf_changed WHERE sid = p_sid;
        IF NOT p_end THEN
            SET v_stamp = hf_clock();
            IF NOT v_log & 1 THEN
                CALL hf_set_log(v_log | 1);
            END IF;
            INSERT INTO hf_store_watcher VALUES (p_sid, v_stamp);
            IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
        ELSEIF v_log & 1 THEN
            SELECT COUNT(*) INTO v_watchers FROM hf_store_watcher LOCK IN SHARE MODE;
            IF v_watchers = 0 THEN
                CALL hf_set_log(v_log - 1);
            END IF;
        END IF;
        RETURN CONCAT_WS(' ', 0, v_stamp, 0, 1);
    END IF;
    SELECT stamp INTO v_stamp FROM hf_store_watcher WHERE sid = p_sid FOR UPDATE;
    SET v_end = 0;
    OPEN changed;
    FETCH changed INTO v_name;
    WHILE NOT v_end DO
        SET v_count = v_count + 1;
        IF v_count <= 1000 THEN
            SET v_names = CONCAT(v_names, 0x00, v_name);
        END IF;
        FETCH changed INTO v_name;
    END WHILE;
    CLOSE changed;
    IF v_count > 0 THEN
        UPDATE hf_store_watcher SET stamp = v_stamp + 1 WHERE sid = p_sid;
        IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
        DELETE FROM hf_changed WHERE sid = p_sid;
        IF ROW_COUNT() <> v_count THEN CALL hf_lost(); END IF;
    END IF;
    RETURN CONCAT(CONCAT_WS(' ', 0, v_stamp + (v_count > 0), 0, v_count > 1000),
                  IF(v_count > 1000, '', v_names));
END //

-- Number the history entries that were committed since the last call, delete the oldest, and return
-- the number of the newest; 0: no history is kept.  The UPDATE waits for entries that are not
-- committed yet, so numbers are in the order of id.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_number_history() RETURNS BIGINT DETERMINISTIC MODIFIES SQL DATA
    SQL SECURITY INVOKER
BEGIN
    DECLARE v_number, v_length BIGINT;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    SELECT number, history INTO v_number, v_length FROM hf_log FOR UPDATE;
    IF v_length = 0 THEN
        RETURN 0;
    END IF;
    SET @hf_number = v_number;
    UPDATE hf_history_entry SET number = (@hf_number := @hf_number + 1)
    WHERE number IS NULL ORDER BY id;
    IF ROW_COUNT() <> @hf_number - v_number THEN CALL hf_lost(); END IF;
    UPDATE hf_log SET number = @hf_number WHERE number <> @hf_number;
    DELETE FROM hf_history_entry WHERE number <= @hf_number - v_length;
    RETURN @hf_number;
END //

-- Set how many history entries to keep; 0 keeps none and deletes all.  Numbers start from the
-- clock, so they are higher than all before.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_keep_history(p_length BIGINT) RETURNS INT
    DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_log INT;
    IF p_length NOT BETWEEN 0 AND 100000 THEN
        SIGNAL SQLSTATE 'HF007' SET MESSAGE_TEXT = 'a history cannot have so many entries';
    END IF;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    SELECT log INTO v_log FROM hf_log FOR UPDATE;
    CALL hf_set_log(IF(p_length > 0, v_log | 2, v_log & 1));
    UPDATE hf_log SET number = IF(history = 0, GREATEST(number, hf_clock()), number),
        history = p_length WHERE history <> p_length;
    IF p_length = 0 THEN
        DELETE FROM hf_history_entry;
    END IF;
    RETURN 0;
END //

-- The history after that number, of one line or of all (NULL).  The first row has the code and the
-- number of the newest entry; code 6: no history is kept.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_history(
    p_name LONGBLOB, p_after BIGINT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_newest BIGINT;
    SELECT hf_number_history() INTO v_newest;
    IF v_newest = 0 THEN
        SELECT 6;
    ELSE
        SELECT 0, v_newest;
        SELECT 0, number, time, what, name, seq, weight, capacity, claim, slot, note, reason
        FROM hf_history_entry
        WHERE number > IF(p_after > v_newest, 0, p_after) AND number <= v_newest AND
            (p_name IS NULL OR name = p_name)
        ORDER BY number;
    END IF;
END //

-- ---- Places of others -----------------------------------------------------------------------------

-- p_by is for the history: a text that names the caller.
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_break_place(
    p_name LONGBLOB, p_seq BIGINT, p_by LONGBLOB) RETURNS INT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_log INT;
    DECLARE v_id, v_weight, v_used, v_holders, v_waiting BIGINT;
    DECLARE v_sid VARBINARY(16) DEFAULT NULL;
    DECLARE v_state BINARY(1);
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    CALL hf_check_shape('x', 1, 1, COALESCE(p_by, ''), '');
    SELECT log INTO v_log FROM hf_log LOCK IN SHARE MODE; -- the caller may have no session
    SELECT used, holders, waiting INTO v_used, v_holders, v_waiting FROM hf_line
    WHERE name = p_name FOR UPDATE;
    SELECT sid, id, weight, state INTO v_sid, v_id, v_weight, v_state FROM hf_place
    WHERE name = p_name AND seq = p_seq AND state IN ('g', 'w') FOR UPDATE;
    IF v_sid IS NULL THEN
        RETURN 6;
    END IF;
    IF v_log >= 2 THEN
        CALL hf_note_history(IF(v_state = 'g', 'b', 'l'), v_sid, v_id, p_by);
    END IF;
    UPDATE hf_place SET state = 'b' WHERE sid = v_sid AND id = v_id;
    IF ROW_COUNT() <> 1 THEN CALL hf_lost(); END IF;
    CALL hf_settle(p_name, v_used - IF(v_state = 'g', v_weight, 0), v_holders - (v_state = 'g'),
                   v_waiting - (v_state = 'w'), '', 0, v_log);
    CALL hf_send(v_sid, CONCAT('b ', v_id));
    RETURN 0;
END //

CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_ask(
    p_name LONGBLOB, p_seq BIGINT, p_why LONGBLOB) RETURNS INT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_log INT;
    DECLARE v_id, v_capacity BIGINT;
    DECLARE v_sid VARBINARY(16) DEFAULT NULL;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    CALL hf_check_shape('x', 1, 1, p_why, '');
    SELECT log INTO v_log FROM hf_log;
    SELECT capacity INTO v_capacity FROM hf_line WHERE name = p_name FOR UPDATE;
    SELECT sid, id INTO v_sid, v_id FROM hf_place
    WHERE name = p_name AND seq = p_seq AND state IN ('g', 'w') FOR UPDATE;
    IF v_sid IS NULL THEN
        RETURN 6;
    END IF;
    UPDATE hf_place SET asked = p_why WHERE sid = v_sid AND id = v_id; -- perhaps the same as before
    IF v_log >= 2 THEN
        CALL hf_note_history('a', v_sid, v_id, p_why);
    END IF;
    CALL hf_send(v_sid, CONCAT('a ', v_id));
    RETURN 0;
END //

-- Does a holder have that token?
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_verify(p_name LONGBLOB, p_token BIGINT)
    RETURNS INT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE v_there INT;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    CALL hf_write_something();
    SELECT COUNT(*) INTO v_there FROM hf_place WHERE name = p_name AND seq = p_token AND state = 'g';
    RETURN IF(v_there, 0, 6);
END //

-- All places in one line, or in all lines (NULL).  The first row has only the stamp.  renewal and
-- ttl are those of the place's session.  One statement, so all rows are of the same moment.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_list(p_name LONGBLOB) SQL SECURITY DEFINER
BEGIN
    IF @@in_transaction OR NOT @@autocommit THEN CALL hf_refuse(); END IF;
    SELECT 0, COALESCE((SELECT changes FROM hf_line WHERE name = p_name), 1), NULL, NULL, NULL, NULL,
           NULL, NULL, NULL, NULL, NULL, NULL, NULL
    UNION ALL
    SELECT 0, l.changes, p.name, p.seq, p.weight, l.capacity, l.claim, p.state, p.slot, p.since,
           p.note, s.renewal, s.ttl
    FROM hf_place p JOIN hf_line l ON l.name = p.name LEFT JOIN hf_session s ON s.sid = p.sid
    WHERE p.state IN ('g', 'w') AND (p_name IS NULL OR p.name = p_name);
END //

-- For doctor.  The first row: totals of all lines and of the one with that name, the highest token,
-- and how many lines have wrong totals.  The second: facts about the server.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_overview(p_name LONGBLOB)
    SQL SECURITY DEFINER
BEGIN
    IF @@in_transaction OR NOT @@autocommit THEN CALL hf_refuse(); END IF;
    SELECT 0, (SELECT COUNT(*) FROM hf_session),
        (SELECT COUNT(*) FROM hf_place WHERE state = 'g'),
        (SELECT COUNT(*) FROM hf_place WHERE state = 'w'),
        (SELECT COUNT(*) FROM hf_line WHERE holders + waiting = 0),
        (SELECT COUNT(*) FROM hf_place WHERE state = 'g' AND name = p_name),
        (SELECT COUNT(*) FROM hf_place WHERE state = 'w' AND name = p_name),
        GREATEST((SELECT floor FROM hf_head), COALESCE((SELECT MAX(last) FROM hf_line), 0)),
        (SELECT COUNT(*) FROM hf_line l LEFT JOIN
            (SELECT name, SUM(IF(state = 'g', weight, 0)) AS used, SUM(state = 'g') AS holders,
                    SUM(state = 'w') AS waiting
             FROM hf_place WHERE state IN ('g', 'w') GROUP BY name) AS c ON c.name = l.name
         WHERE l.used <> COALESCE(c.used, 0) OR l.holders <> COALESCE(c.holders, 0) OR
               l.waiting <> COALESCE(c.waiting, 0));
    SELECT hf_clock(), SESSION_USER(), CURRENT_USER(),
        @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog, @@max_connections,
        (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS
         WHERE VARIABLE_NAME = 'THREADS_CONNECTED'),
        (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS
         WHERE VARIABLE_NAME = 'SLAVES_CONNECTED'),
        (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS
         WHERE VARIABLE_NAME = 'RPL_SEMI_SYNC_MASTER_STATUS'), @@innodb_doublewrite,
        (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND
             TABLE_NAME LIKE 'hf\\_%' AND TABLE_NAME <> 'hf_era' AND ENGINE <> 'InnoDB');
END //

-- Correct the totals of a line that were changed by hand, and grant what is free then.  A line
-- without a row gets the capacity that is in use, so other kinds of lock are refused until it is
-- empty.  Were they wrong?
CREATE OR REPLACE DEFINER = holdfast@localhost FUNCTION hf_recount_line(p_name VARBINARY(255))
    RETURNS INT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_used, v_holders, v_waiting, v_last, v_wrong BIGINT;
    DECLARE v_log INT;
    IF @@in_transaction OR NOT @@autocommit OR @@read_only THEN CALL hf_refuse(); END IF;
    SELECT log INTO v_log FROM hf_log LOCK IN SHARE MODE;
    SELECT COALESCE(SUM(IF(state = 'g', weight, 0)), 1) INTO v_used FROM hf_place
    WHERE name = p_name;
    CALL hf_make_line(p_name, GREATEST(v_used, 1), 0);
    CALL hf_count(p_name, v_used, v_holders, v_waiting);
    SELECT COUNT(*) INTO v_wrong FROM hf_line WHERE name = p_name AND
        (used <> v_used OR holders <> v_holders OR waiting <> v_waiting) FOR UPDATE;
    IF v_wrong THEN
        SELECT COALESCE(MAX(seq), 0) INTO v_last FROM hf_place WHERE name = p_name FOR UPDATE;
        UPDATE hf_line SET last = GREATEST(last, v_last) WHERE name = p_name;
        CALL hf_settle(p_name, v_used, v_holders, v_waiting, '', 0, v_log);
    END IF;
    RETURN v_wrong;
END //

-- For administrators: the same for all lines.  The answer says how many were wrong.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_recount() SQL SECURITY DEFINER
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_wrong, v_count BIGINT DEFAULT 0;
    DECLARE v_end INT DEFAULT 0;
    DECLARE names CURSOR FOR SELECT name FROM hf_line UNION SELECT name FROM hf_place;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;
    IF @@in_transaction OR NOT @@autocommit THEN CALL hf_refuse(); END IF;
    OPEN names;
    FETCH names INTO v_name;
    WHILE NOT v_end DO
        SELECT hf_recount_line(v_name) INTO v_wrong;
        SET v_end = 0, v_count = v_count + v_wrong;
        FETCH names INTO v_name;
    END WHILE;
    CLOSE names;
    SELECT 0, v_count;
END //

-- ---- For the data that a lock protects --------------------------------------------------------------

-- Call it first in a transaction that changes what the lock protects.  It fails if a later holder
-- has called it before, and keeps later holders out until the transaction ends.  Holders that share
-- a lock, as readers do, may call it in any order while they hold it; above READ COMMITTED, that
-- keeps their places locked until the transaction ends.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_check_fence(
    p_name LONGBLOB, p_token BIGINT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_token BIGINT DEFAULT NULL;
    DECLARE v_there INT DEFAULT 0;
    CALL hf_check_shape(p_name, 1, 1, '', '');
    INSERT INTO hf_fence VALUES (p_name, p_token)
    ON DUPLICATE KEY UPDATE token = GREATEST(token, p_token);
    SELECT token INTO v_token FROM hf_fence WHERE name = p_name FOR UPDATE;
    IF v_token IS NULL OR v_token < p_token THEN CALL hf_lost(); END IF;
    IF v_token > p_token THEN
        IF @@tx_isolation IN ('READ-COMMITTED', 'READ-UNCOMMITTED') THEN
            SELECT COUNT(*) INTO v_there FROM hf_place
            WHERE name = p_name AND seq = p_token AND state = 'g';
        ELSE -- a plain read might show a place that was lost since the transaction began
            SELECT COUNT(*) INTO v_there FROM hf_place
            WHERE name = p_name AND seq = p_token AND state = 'g' LOCK IN SHARE MODE;
        END IF;
    END IF;
    IF v_token > p_token AND v_there = 0 THEN
        SIGNAL SQLSTATE 'HF002'
            SET MESSAGE_TEXT = 'this token is stale: another holder has the lock by now';
    END IF;
END //

-- ---- Rights of that account ----------------------------------------------------------------------

BEGIN NOT ATOMIC
    DECLARE v_grant VARCHAR(300);
    DECLARE v_end INT DEFAULT 0;
    DECLARE grants CURSOR FOR
        SELECT CONCAT('GRANT SELECT, INSERT, UPDATE, DELETE ON ', TABLE_NAME)
        FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'hf\\_%'
        UNION ALL SELECT CONCAT('GRANT EXECUTE ON ', ROUTINE_TYPE, ' ', ROUTINE_NAME)
        FROM information_schema.ROUTINES
        WHERE ROUTINE_SCHEMA = DATABASE() AND ROUTINE_NAME LIKE 'hf\\_%';
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;
    OPEN grants;
    FETCH grants INTO v_grant;
    WHILE NOT v_end DO
        EXECUTE IMMEDIATE CONCAT(v_grant, ' TO holdfast@localhost');
        FETCH grants INTO v_grant;
    END WHILE;
    CLOSE grants;
END //

-- The tables and functions are complete.
UPDATE hf_head SET version = @hf_version WHERE version = 0 //
