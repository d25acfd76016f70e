-- schema.sql - lines in a MariaDB database, and the procedures that change them.
--
-- A session has a renewal number; every renewal draws a higher one from a sequence.  No time of
-- day ends a session.  A client that drew number n remembers when, by its own clock.  If that is
-- longer ago than the ttl of a session whose number is still below n, that session has not been
-- renewed since, and the client may expire it.
--
-- A line is a row that counts holders and waiters.  Every procedure locks it before it reads
-- anything else in the line, so places are numbered in the order of their commits.  The seq of a
-- place is also its token.
--
-- Procedures lock the caller's session first, then lines in the order of their names, then
-- wakers.  The first column of an answer is a code: 0 done, 2 no such session, 3 the session has a
-- newer connection, 4 the line is in use for another kind of lock, 5 too many waiters, 6 no such
-- place, 7 another version of the layout.  An answer counts once the CALL has ended without error.
--
-- InnoDB shows a commit to others before it is on disk.  So a procedure whose answer somebody
-- relies on writes something: its own commit is on disk when it returns, and all before it are.
--
-- Everything is called hf_..., so that the database may have other tables.  The script may be run
-- again.  schema.c puts a line in front of it that sets @hf_version, the version of this layout.
DELIMITER //
SET sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', NAMES utf8mb4 //

-- The account whose rights the procedures have: nobody can log in with it, and it may do nothing
-- else.  Where we may not create it, the procedures have the rights of the account that runs this
-- script; then schema.c leaves out every statement and clause that names it.
CREATE USER IF NOT EXISTS holdfast@localhost ACCOUNT LOCK //

-- Replace an older layout once it has no sessions.  hf_hello() locks hf_head, so a session that
-- begins now is counted here or refused.  Version 0: this was begun, and is not complete.
CREATE TABLE IF NOT EXISTS hf_head (
    one     TINYINT PRIMARY KEY,
    version INT NOT NULL,
    floor   BIGINT NOT NULL,        -- highest token of all lines that were deleted
    swept   VARBINARY(255) NOT NULL -- the last line that hf_sweep() looked at
) ENGINE = InnoDB //
INSERT IGNORE INTO hf_head VALUES (1, 0, 0, '') //
BEGIN NOT ATOMIC
    DECLARE v_version, v_sessions, v_floor BIGINT DEFAULT 0;
    DECLARE v_text VARCHAR(128);
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
            UPDATE hf_head SET version = 0, floor = GREATEST(floor, v_floor), swept = '';
        END IF;
        COMMIT;
        DROP TABLE IF EXISTS hf_session, hf_waker, hf_message, hf_line, hf_place, hf_watch, hf_log,
            hf_store_watcher, hf_changed, hf_history_entry, hf_era, hf_write;
        DROP SEQUENCE IF EXISTS hf_renewal;
    END IF;
    COMMIT;
END //

CREATE SEQUENCE IF NOT EXISTS hf_renewal ENGINE = InnoDB //

CREATE TABLE IF NOT EXISTS hf_session (
    sid        BINARY(16) PRIMARY KEY, -- hexadecimal digits
    connection BIGINT NOT NULL,
    renewal    BIGINT NOT NULL,
    renewed    BIGINT NOT NULL,     -- microseconds since 1970: see hf_expire_silent()
    ttl        BIGINT NOT NULL,     -- milliseconds
    note       VARBINARY(255) NOT NULL, -- the client's version of Holdfast, for people
    log        TINYINT NOT NULL,    -- copy of hf_log.log
    KEY (renewal)
) ENGINE = InnoDB //

-- For each session the connection that sleeps in hf_await(); -1: there is none.
CREATE TABLE IF NOT EXISTS hf_waker (
    sid    BINARY(16) PRIMARY KEY,
    thread BIGINT NOT NULL
) ENGINE = InnoDB //

-- Messages that a session has not fetched yet.
CREATE TABLE IF NOT EXISTS hf_message (
    n    BIGINT AUTO_INCREMENT,
    sid  BINARY(16) NOT NULL,
    text VARBINARY(400) NOT NULL,
    PRIMARY KEY (sid, n),
    KEY (n)
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
    id       BIGINT AUTO_INCREMENT PRIMARY KEY,
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

-- A row is written here by procedures that change nothing else, so that their commit waits for the
-- disk.
CREATE TABLE IF NOT EXISTS hf_write (n BIGINT AUTO_INCREMENT PRIMARY KEY) ENGINE = InnoDB //

-- ---- For the procedures below -------------------------------------------------------------------

-- Every statement has to see what was committed before it, so READ COMMITTED.  A caller with a
-- transaction in progress gets an error.  A definer with all rights could write in spite of read_only.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_begin() SQL SECURITY DEFINER
BEGIN
    IF @@read_only THEN
        SIGNAL SQLSTATE 'HF005' SET MESSAGE_TEXT = 'the server is read-only';
    END IF;
    IF @@tx_isolation <> 'READ-COMMITTED' THEN -- our connections have it
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    START TRANSACTION;
END //

CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_write_something() SQL SECURITY DEFINER
BEGIN
    INSERT INTO hf_write VALUES (NULL);
    DELETE FROM hf_write WHERE n = LAST_INSERT_ID();
END //

-- Lock a session: until the transaction ends it cannot expire or get a newer connection.
-- p_code: 0, 2 or 3.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_check_session(
    p_sid VARBINARY(16), p_connection BIGINT, OUT p_code INT, OUT p_log INT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_connection BIGINT DEFAULT NULL;
    SELECT connection, log INTO v_connection, p_log FROM hf_session
    WHERE sid = p_sid LOCK IN SHARE MODE;
    SET p_code = IF(v_connection IS NULL, 2, IF(v_connection = p_connection, 0, 3));
END //

-- Refuse invalid numbers and texts: every client would read such a row.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_check_shape(
    p_name LONGBLOB, p_weight BIGINT, p_capacity BIGINT, p_note LONGBLOB, p_grant_secret LONGBLOB)
    SQL SECURITY DEFINER
BEGIN
    IF p_name IS NULL OR LENGTH(p_name) NOT BETWEEN 1 AND 255 OR p_weight IS NULL OR p_weight < 1 OR
        p_capacity IS NULL OR p_weight > p_capacity OR p_capacity > 4294967295 OR p_note IS NULL OR
        LENGTH(p_note) > 8192 OR p_grant_secret IS NULL OR LENGTH(p_grant_secret) > 64 THEN
        SIGNAL SQLSTATE 'HF007' SET MESSAGE_TEXT = 'the name, weight, capacity or note is invalid';
    END IF;
END //

-- Send a message to a session: a row, and in p_wake the connection to be woken after the commit.
-- hf_await() writes hf_waker before it looks for messages; the share lock here makes it wait
-- until this message can be seen, or it makes us see the new connection.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_send(
    p_sid VARBINARY(16), p_text VARBINARY(400), INOUT p_wake MEDIUMBLOB) SQL SECURITY DEFINER
BEGIN
    DECLARE v_thread BIGINT DEFAULT NULL;
    SELECT thread INTO v_thread FROM hf_waker WHERE sid = p_sid LOCK IN SHARE MODE;
    IF v_thread IS NOT NULL THEN
        IF p_text <> 's' THEN
            INSERT INTO hf_message (sid, text) VALUES (p_sid, p_text);
        END IF;
        IF v_thread > 0 THEN
            SET p_wake = CONCAT_WS(',', p_wake, v_thread);
        END IF;
    END IF;
END //

-- After COMMIT: end the queries of these connections.  A connection that is gone, or is in no
-- procedure of ours, needs no waking: it looks for messages before it sleeps again.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_wake(p_wake MEDIUMBLOB) SQL SECURITY DEFINER
BEGIN
    DECLARE v_thread BIGINT;
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
    WHILE p_wake IS NOT NULL DO
        SET v_thread = SUBSTRING_INDEX(p_wake, ',', 1);
        SET p_wake = IF(LOCATE(',', p_wake) > 0, SUBSTRING(p_wake, LOCATE(',', p_wake) + 1), NULL);
        KILL QUERY v_thread;
    END WHILE;
END //

-- Lock the line's row, and insert it first if there is none.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_make_line(
    p_name VARBINARY(255), p_capacity BIGINT, p_claim TINYINT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_there, v_floor BIGINT DEFAULT NULL;
    SELECT last INTO v_there FROM hf_line WHERE name = p_name FOR UPDATE;
    WHILE v_there IS NULL DO
        INSERT INTO hf_line
        SELECT p_name, p_capacity, p_claim, 0, 0, 0, floor,
               GREATEST(floor, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))), 0
        FROM hf_head
        ON DUPLICATE KEY UPDATE last = hf_line.last;
        -- The INSERT may have waited for hf_sweep_lines(), which raised floor meanwhile.
        SELECT floor INTO v_floor FROM hf_head;
        UPDATE hf_line SET last = v_floor WHERE name = p_name AND last < v_floor;
        SELECT last INTO v_there FROM hf_line WHERE name = p_name FOR UPDATE;
    END WHILE;
END //

-- The slot of the next holder: the lowest that no holder has.  Only a semaphore has slots.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_free_slot(
    p_name VARBINARY(255), p_capacity BIGINT, p_holders BIGINT, OUT p_slot BIGINT)
    SQL SECURITY DEFINER
BEGIN
    IF p_capacity IN (1, 4294967295) THEN
        SET p_slot = -1;
    ELSEIF p_holders = 0 THEN
        SET p_slot = 0;
    ELSE
        SELECT MIN(s) INTO p_slot FROM (
            SELECT 0 AS s UNION ALL
            SELECT slot + 1 FROM hf_place WHERE name = p_name AND state = 'g') AS x
        WHERE s NOT IN (SELECT slot FROM hf_place WHERE name = p_name AND state = 'g');
    END IF;
END //

-- For the history: append an entry about a place, in its present state.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_note_history(
    p_what BINARY(1), p_sid VARBINARY(16), p_id BIGINT, p_why VARBINARY(8192)) SQL SECURITY DEFINER
BEGIN
    INSERT INTO hf_history_entry (what, time, name, seq, weight, capacity, claim, slot, note, reason)
    SELECT p_what, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), p.name, p.seq,
           p.weight, l.capacity, p.claim, p.slot, p.note, p_why
    FROM hf_place p JOIN hf_line l ON l.name = p.name WHERE p.sid = p_sid AND p.id = p_id;
END //

-- For watches and store watches: this line has changed.  The share lock on hf_log makes a store
-- watch that begins wait until this change can be seen; see hf_watch_store().
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_note_change(
    p_name VARBINARY(255), p_watched INT, p_log INT, INOUT p_wake MEDIUMBLOB) SQL SECURITY DEFINER
BEGIN
    DECLARE v_sid VARBINARY(16);
    DECLARE v_log, v_end INT DEFAULT 0;
    DECLARE watchers CURSOR FOR SELECT sid FROM hf_watch WHERE name = p_name;
    DECLARE store_watchers CURSOR FOR SELECT sid FROM hf_store_watcher;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;
    IF p_watched THEN
        OPEN watchers;
        FETCH watchers INTO v_sid;
        WHILE NOT v_end DO
            CALL hf_send(v_sid, CONCAT('c ', p_name), p_wake);
            SET v_end = 0;
            FETCH watchers INTO v_sid;
        END WHILE;
        CLOSE watchers;
        DELETE FROM hf_watch WHERE name = p_name;
    END IF;
    IF p_log & 1 THEN
        SELECT log INTO v_log FROM hf_log LOCK IN SHARE MODE;
        SET v_end = 0;
        OPEN store_watchers;
        FETCH store_watchers INTO v_sid;
        WHILE NOT v_end DO
            INSERT INTO hf_changed VALUES (v_sid, p_name, 1)
            ON DUPLICATE KEY UPDATE times = times + 1;
            CALL hf_send(v_sid, 's', p_wake);
            SET v_end = 0;
            FETCH store_watchers INTO v_sid;
        END WHILE;
        CLOSE store_watchers;
    END IF;
END //

-- A line has changed; the caller has locked and updated its row.  Grant waiters in order while they
-- fit, and notify each of them except p_sid and p_id, which learns it from the answer.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_grant_waiters(
    p_name VARBINARY(255), p_sid VARBINARY(16), p_id BIGINT, p_log INT, INOUT p_wake MEDIUMBLOB)
    SQL SECURITY DEFINER
BEGIN
    DECLARE v_capacity, v_used, v_holders, v_waiting, v_id, v_weight, v_slot, v_since BIGINT;
    DECLARE v_watched INT;
    DECLARE v_sid VARBINARY(16);
    DECLARE v_secret VARBINARY(64);
    SELECT capacity, used, holders, waiting, watched
    INTO v_capacity, v_used, v_holders, v_waiting, v_watched FROM hf_line WHERE name = p_name;
    grant_next: WHILE v_waiting > 0 DO
        SET v_sid = NULL;
        SELECT sid, id, weight, grant_secret INTO v_sid, v_id, v_weight, v_secret FROM hf_place
        WHERE name = p_name AND state = 'w' ORDER BY seq LIMIT 1;
        IF v_sid IS NULL OR v_used + v_weight > v_capacity THEN
            LEAVE grant_next;
        END IF;
        CALL hf_free_slot(p_name, v_capacity, v_holders, v_slot);
        SET v_since = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
            v_used = v_used + v_weight, v_holders = v_holders + 1, v_waiting = v_waiting - 1;
        UPDATE hf_place SET state = 'g', since = v_since, slot = v_slot
        WHERE sid = v_sid AND id = v_id;
        IF p_log >= 2 THEN
            CALL hf_note_history('g', v_sid, v_id, NULL);
        END IF;
        IF v_sid <> p_sid OR v_id <> p_id THEN
            CALL hf_send(v_sid, CONCAT_WS(' ', 'g', v_id, v_slot, v_since, v_secret), p_wake);
        END IF;
    END WHILE;
    UPDATE hf_line SET used = v_used, holders = v_holders, waiting = v_waiting,
        changes = changes + 1, watched = 0 WHERE name = p_name;
    IF v_watched OR p_log & 1 THEN
        CALL hf_note_change(p_name, v_watched, p_log, p_wake);
    END IF;
END //

-- Remove everything that belongs to a session whose row is deleted already.  p_what is the history
-- entry for a place that was granted: r if its owner released it.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_remove_session(
    p_sid VARBINARY(16), p_log INT, p_what BINARY(1), INOUT p_wake MEDIUMBLOB) SQL SECURITY DEFINER
BEGIN
    DECLARE v_name, v_line VARBINARY(255) DEFAULT NULL;
    DECLARE v_id, v_weight BIGINT;
    DECLARE v_state BINARY(1);
    DECLARE v_end INT DEFAULT 0;
    -- Names only: a place may be granted until we have its line's lock.
    DECLARE places CURSOR FOR
        SELECT name, id FROM hf_place WHERE sid = p_sid
        UNION ALL SELECT name, NULL FROM hf_watch WHERE sid = p_sid
        ORDER BY 1, 2;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;
    OPEN places;
    FETCH places INTO v_name, v_id;
    WHILE NOT v_end DO
        IF v_line IS NULL OR v_line <> v_name THEN
            SET v_line = v_name;
            CALL hf_make_line(v_name, 1, 0); -- a line that was watched may be gone by now
        END IF;
        IF v_id IS NULL THEN
            DELETE FROM hf_watch WHERE name = v_name AND sid = p_sid;
        ELSE
            SELECT state, weight INTO v_state, v_weight FROM hf_place
            WHERE sid = p_sid AND id = v_id;
            IF p_log >= 2 AND v_state <> 'b' THEN
                CALL hf_note_history(IF(v_state = 'g', p_what, 'l'), p_sid, v_id, NULL);
            END IF;
            DELETE FROM hf_place WHERE sid = p_sid AND id = v_id;
            UPDATE hf_line SET used = used - IF(v_state = 'g', v_weight, 0),
                holders = holders - (v_state = 'g'), waiting = waiting - (v_state = 'w')
            WHERE name = v_name;
        END IF;
        SET v_end = 0;
        FETCH places INTO v_name, v_id;
        IF v_end OR v_name <> v_line THEN
            CALL hf_grant_waiters(v_line, '', 0, p_log, p_wake);
        END IF;
    END WHILE;
    CLOSE places;
    DELETE FROM hf_store_watcher WHERE sid = p_sid;
    DELETE FROM hf_waker WHERE sid = p_sid; -- last: whoever has it locked may wait for a line
    DELETE FROM hf_message WHERE sid = p_sid;
    DELETE FROM hf_changed WHERE sid = p_sid;
END //

-- How a place stands, for its owner.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_own_place(
    p_sid VARBINARY(16), p_id BIGINT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_state BINARY(1) DEFAULT '-';
    DECLARE v_seq, v_since, v_weight, v_ahead BIGINT DEFAULT 0;
    DECLARE v_slot BIGINT DEFAULT -1;
    DECLARE v_asked VARBINARY(8192);
    DECLARE v_name VARBINARY(255);
    SELECT state, seq, slot, since, weight, asked, name
    INTO v_state, v_seq, v_slot, v_since, v_weight, v_asked, v_name
    FROM hf_place WHERE sid = p_sid AND id = p_id AND state <> 'b';
    IF v_state = 'w' THEN
        SELECT COUNT(*) INTO v_ahead FROM hf_place
        WHERE name = v_name AND state IN ('g', 'w') AND seq < v_seq;
    END IF;
    SELECT 0, v_state, v_seq, v_slot, v_since, v_weight, v_ahead, v_asked;
END //

-- ---- Sessions -----------------------------------------------------------------------------------

CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_find_era(OUT p_era VARBINARY(64))
    SQL SECURITY DEFINER
BEGIN
    DECLARE v_era VARBINARY(64) DEFAULT NULL;
    SELECT era INTO v_era FROM hf_era;
    IF v_era IS NULL THEN
        INSERT IGNORE INTO hf_era VALUES (1, UUID());
        SELECT era INTO v_era FROM hf_era;
    END IF;
    SET p_era = CONCAT_WS(' ', @@server_id, v_era); -- a replica has the same row
END //

-- Open a session (p_fresh), or move one that exists to a new connection.  p_former: the server's
-- number of the old connection in the era p_era, or 0.  A call there may still be waiting for a
-- lock.  hf_hello() has the same arguments in every layout, so that each layout can refuse the
-- clients of all others.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_hello(
    p_version INT, p_sid VARBINARY(16), p_connection BIGINT, p_ttl BIGINT, p_fresh INT,
    p_note VARBINARY(255), p_former BIGINT, p_era VARBINARY(64)) SQL SECURITY DEFINER
me: BEGIN
    DECLARE v_old, v_number BIGINT DEFAULT NULL;
    DECLARE v_version, v_log, v_code INT DEFAULT 0;
    DECLARE v_era VARBINARY(64);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    IF EXISTS (SELECT 1 FROM information_schema.GLOBAL_VARIABLES
               WHERE VARIABLE_NAME = 'WSREP_ON' AND VARIABLE_VALUE = 'ON') THEN
        SIGNAL SQLSTATE 'HF006' SET MESSAGE_TEXT = 'the server is part of a Galera cluster';
    END IF;
    IF p_ttl NOT BETWEEN 500 AND 3600000 OR p_sid NOT RLIKE '^[0-9a-f]{16}$' THEN
        SIGNAL SQLSTATE 'HF007' SET MESSAGE_TEXT = 'the session or its ttl is invalid';
    END IF;
    CALL hf_begin();
    SELECT version INTO v_version FROM hf_head LOCK IN SHARE MODE;
    IF v_version <> p_version THEN
        ROLLBACK;
        SELECT 7, v_version, 0, 0, '';
        LEAVE me;
    END IF;
    CALL hf_find_era(v_era);
    IF p_former > 0 AND p_era = v_era THEN
        CALL hf_end_former(p_former);
    END IF;
    IF p_fresh THEN
        SELECT log INTO v_log FROM hf_log LOCK IN SHARE MODE; -- not while hf_set_log() writes
        INSERT IGNORE INTO hf_session
        VALUES (p_sid, p_connection, NEXTVAL(hf_renewal),
                TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), p_ttl, p_note, v_log);
    END IF;
    SELECT connection INTO v_old FROM hf_session WHERE sid = p_sid FOR UPDATE;
    IF v_old IS NULL OR v_old > p_connection THEN
        SET v_code = IF(v_old IS NULL, 2, 3);
    ELSE
        SET v_number = NEXTVAL(hf_renewal);
        UPDATE hf_session SET connection = p_connection, renewal = v_number, ttl = p_ttl,
            renewed = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) WHERE sid = p_sid;
        INSERT INTO hf_waker VALUES (p_sid, -1) ON DUPLICATE KEY UPDATE thread = -1;
    END IF;
    COMMIT;
    SELECT v_code, v_version, CONNECTION_ID(), COALESCE(v_number, 0), v_era;
END //

-- It may only be ended while it is in one of our procedures, and then it holds locks that we need.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_end_former(p_thread BIGINT)
    SQL SECURITY DEFINER
BEGIN
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
    IF p_thread <> CONNECTION_ID() THEN
        KILL CONNECTION p_thread;
    END IF;
END //

-- Renew the caller's session.  The first row has its new number and the era.  More rows tell of the
-- sessions at the head of lines that the caller waits for: each ttl, and the lowest renewal number
-- of a session with that ttl.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_renew(
    p_sid VARBINARY(16), p_connection BIGINT) SQL SECURITY DEFINER
me: BEGIN
    DECLARE v_code, v_log INT DEFAULT 0;
    DECLARE v_number BIGINT;
    DECLARE v_era VARBINARY(64);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_begin();
    -- No share lock first: two such calls would wait for each other.
    SELECT connection INTO v_number FROM hf_session
    WHERE sid = p_sid AND connection = p_connection FOR UPDATE;
    IF v_number IS NULL THEN
        CALL hf_check_session(p_sid, p_connection, v_code, v_log);
        ROLLBACK;
        SELECT v_code, 0, 0, '';
        LEAVE me;
    END IF;
    SET v_number = NEXTVAL(hf_renewal); -- with the row's lock: a commit in another order is no harm
    UPDATE hf_session SET renewal = v_number,
        renewed = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) WHERE sid = p_sid;
    COMMIT; -- or a client that saw an older number expires us too early
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

-- The messages for a session, each once.  They are on disk then, with all that they tell of.  p_bed:
-- from now on this connection has the lock that hf_await() waits for.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_fetch(
    p_sid VARBINARY(16), p_connection BIGINT, p_bed INT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_code, v_log INT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    IF p_bed AND COALESCE(IS_USED_LOCK(CONCAT('holdfast.', p_sid)), 0) <> CONNECTION_ID() THEN
        DO GET_LOCK(CONCAT('holdfast.', p_sid), 0); -- an old connection may still have it
    END IF;
    CALL hf_begin();
    CALL hf_check_session(p_sid, p_connection, v_code, v_log);
    SELECT v_code, EXISTS (SELECT 1 FROM hf_changed WHERE sid = p_sid);
    IF v_code = 0 THEN
        DELETE FROM hf_message WHERE sid = p_sid RETURNING 0, text;
    END IF;
    COMMIT;
END //

-- Sleep until there are messages, on a connection of its own.  hf_wake() ends the CALL with error
-- 1317.  A message is committed before hf_wake(), so one that we do not see here wakes us later, in
-- whatever statement we are.  p_store: a changed line of the store watch counts as a message.
--
-- It sleeps by waiting for a lock that the session's other connection has, see hf_fetch(); so it also
-- ends with that connection.  SLEEP() would not do: all of a server's have one mutex, and KILL QUERY
-- of one that is about to sleep keeps that, and so every other sleeper, for two seconds (MariaDB 10.11).
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_await(
    p_sid VARBINARY(16), p_milliseconds BIGINT, p_store INT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_thread BIGINT DEFAULT NULL;
    DECLARE v_slept INT DEFAULT 0;
    ROLLBACK; -- of a call that was killed
    SELECT thread INTO v_thread FROM hf_waker WHERE sid = p_sid;
    IF v_thread <> CONNECTION_ID() THEN
        CALL hf_begin();
        UPDATE hf_waker SET thread = CONNECTION_ID() WHERE sid = p_sid;
        COMMIT;
    END IF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF v_thread IS NOT NULL AND NOT EXISTS (SELECT 1 FROM hf_message WHERE sid = p_sid) AND
        NOT (p_store AND EXISTS (SELECT 1 FROM hf_changed WHERE sid = p_sid)) THEN
        SET v_slept = 1;
        IF GET_LOCK(CONCAT('holdfast.', p_sid), p_milliseconds / 1000) THEN
            DO RELEASE_LOCK(CONCAT('holdfast.', p_sid)); -- nobody had it
        END IF;
    END IF;
    SELECT IF(v_thread IS NULL, 2, 0), v_slept;
END //

-- Nothing waits any more: the connection that sleeps in hf_await() may end.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_rest(p_sid VARBINARY(16))
    SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_begin();
    UPDATE hf_waker SET thread = -1 WHERE sid = p_sid;
    COMMIT;
    DO RELEASE_LOCK(CONCAT('holdfast.', p_sid));
    SELECT 0;
END //

-- For administrators: end a session with all its places.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_expire(p_sid VARBINARY(16))
    SQL SECURITY DEFINER
BEGIN
    DECLARE v_log INT DEFAULT NULL;
    DECLARE v_wake MEDIUMBLOB DEFAULT NULL;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_begin();
    SELECT log INTO v_log FROM hf_session WHERE sid = p_sid FOR UPDATE;
    IF v_log IS NOT NULL THEN
        CALL hf_send(p_sid, 'e', v_wake);
        DELETE FROM hf_session WHERE sid = p_sid;
        CALL hf_remove_session(p_sid, v_log, 'x', v_wake);
    END IF;
    COMMIT;
    CALL hf_wake(v_wake);
    SELECT IF(v_log IS NULL, 2, 0);
END //

-- End sessions that have been silent for too long, except p_sid: up to 100, each in a transaction of
-- its own.  p_drawn is "number age,number age,...": the caller drew each number so many
-- milliseconds ago, by its own clock.  A session expires if one of these numbers is not lower than
-- its own and is older than its ttl, plus an allowance for clock drift.  The answer says how many
-- have expired; if that is not 0 the caller calls again.
--
-- A caller could invent an age, so the server's clock is a second check: a session that the server
-- saw renewed within its ttl stays.  If that clock was set back, `renewed` may be in the future;
-- then only the caller's numbers count.  So a wrong clock keeps a dead session for one more ttl at
-- most.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_expire_silent(
    p_sid VARBINARY(16), p_era VARBINARY(64), p_drawn VARBINARY(4096)) SQL SECURITY DEFINER
BEGIN
    DECLARE v_era VARBINARY(64);
    DECLARE v_pair VARBINARY(64);
    DECLARE v_number, v_age, v_now BIGINT;
    DECLARE v_count, v_log INT DEFAULT 0;
    DECLARE v_dead VARBINARY(16);
    DECLARE v_wake MEDIUMBLOB;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_find_era(v_era);
    pairs: WHILE p_drawn <> '' AND p_era = v_era AND v_count < 100 DO
        SET v_pair = SUBSTRING_INDEX(p_drawn, ',', 1);
        SET v_number = SUBSTRING_INDEX(v_pair, ' ', 1), v_age = SUBSTRING_INDEX(v_pair, ' ', -1);
        CALL hf_begin();
        SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), v_dead = NULL,
            v_wake = NULL;
        -- A session that is locked is at work, or another call is ending it.
        SELECT sid, log INTO v_dead, v_log FROM hf_session
        WHERE renewal <= v_number AND ttl * 501 <= v_age * 500 AND sid <> p_sid AND
            v_now - renewed NOT BETWEEN 0 AND ttl * 1000 - 1
        ORDER BY renewal LIMIT 1 FOR UPDATE SKIP LOCKED;
        IF v_dead IS NULL THEN
            ROLLBACK;
            SET p_drawn = IF(LOCATE(',', p_drawn) > 0,
                             SUBSTRING(p_drawn, LOCATE(',', p_drawn) + 1), '');
        ELSE
            CALL hf_send(v_dead, 'e', v_wake);
            DELETE FROM hf_session WHERE sid = v_dead;
            CALL hf_remove_session(v_dead, v_log, 'x', v_wake);
            COMMIT;
            CALL hf_wake(v_wake);
            SET v_count = v_count + 1;
        END IF;
    END WHILE;
    SELECT 0, v_count;
END //

-- Look at the next p_most lines, in the order of names, and delete those that are empty and have
-- been for a minute (or at all, if there are no sessions).  hf_head.floor keeps their highest token.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_sweep_lines(
    p_most INT, OUT p_count INT) SQL SECURITY DEFINER
me: BEGIN
    DECLARE v_from, v_name VARBINARY(255) DEFAULT NULL;
    DECLARE v_until, v_last, v_floor BIGINT DEFAULT 0;
    DECLARE v_end, v_seen, v_watchers INT DEFAULT 0;
    DECLARE next_lines CURSOR FOR
        (SELECT name FROM hf_line WHERE name > v_from ORDER BY name LIMIT p_most)
        UNION ALL (SELECT name FROM hf_line WHERE name <= v_from ORDER BY name LIMIT p_most);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;
    SET p_count = 0;
    SELECT swept INTO v_from FROM hf_head FOR UPDATE SKIP LOCKED;
    IF v_from IS NULL THEN -- another client is sweeping
        LEAVE me;
    END IF;
    SELECT IF(EXISTS (SELECT 1 FROM hf_session), -- SET would wait for a session that is locked
              TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) - 60000000,
              9223372036854775807), 0 INTO v_until, v_end;
    OPEN next_lines;
    FETCH next_lines INTO v_name;
    WHILE NOT v_end AND v_seen < p_most DO
        SET v_last = NULL;
        SELECT last INTO v_last FROM hf_line
        WHERE name = v_name AND holders = 0 AND waiting = 0 AND last < v_until
        FOR UPDATE SKIP LOCKED;
        SELECT COUNT(*) INTO v_watchers FROM hf_watch WHERE name = v_name; -- now that it is locked
        IF v_last IS NOT NULL AND v_watchers = 0 THEN
            DELETE FROM hf_line WHERE name = v_name;
            SET p_count = p_count + 1, v_floor = GREATEST(v_floor, v_last);
        END IF;
        SET v_from = v_name, v_seen = v_seen + 1, v_end = 0;
        FETCH next_lines INTO v_name;
    END WHILE;
    CLOSE next_lines;
    UPDATE hf_head SET swept = IF(v_seen > 0, v_from, ''), floor = GREATEST(floor, v_floor);
END //

-- The same; it also trims the change log, and turns it off if no store watch is left.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_sweep(p_most INT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_log, v_count INT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_begin();
    SELECT log INTO v_log FROM hf_log;
    IF v_log > 0 THEN
        SET v_log = 0;
        SELECT log INTO v_log FROM hf_log FOR UPDATE SKIP LOCKED;
        IF v_log & 1 AND NOT EXISTS (SELECT 1 FROM hf_store_watcher) THEN
            CALL hf_set_log(v_log - 1);
            SET v_log = v_log - 1;
        END IF;
        IF v_log >= 2 THEN
            CALL hf_number_history();
        END IF;
        COMMIT;
        CALL hf_begin();
    END IF;
    CALL hf_sweep_lines(LEAST(p_most, 10000), v_count);
    COMMIT;
    SELECT 0, v_count;
END //

-- End a session.  p_connection is NULL if the caller has a session key: then any connection will
-- do, the owner is notified in case it is alive, and the end of the session, by this call or an
-- earlier one, is on disk before the answer.  Callers do not check the version first, so a layout
-- in which the call means something else has to give it another name.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_bye(
    p_sid VARBINARY(16), p_connection BIGINT) SQL SECURITY DEFINER
me: BEGIN
    DECLARE v_connection BIGINT DEFAULT NULL;
    DECLARE v_log, v_count INT DEFAULT 0;
    DECLARE v_wake MEDIUMBLOB DEFAULT NULL;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_begin();
    SELECT connection, log INTO v_connection, v_log FROM hf_session WHERE sid = p_sid FOR UPDATE;
    IF v_connection IS NULL OR v_connection <> COALESCE(p_connection, v_connection) THEN
        IF p_connection IS NULL THEN
            CALL hf_write_something();
        END IF;
        COMMIT;
        SELECT 2;
        LEAVE me;
    END IF;
    CALL hf_send(p_sid, 'e', v_wake); -- and its own connection that sleeps may end
    DELETE FROM hf_session WHERE sid = p_sid;
    CALL hf_remove_session(p_sid, v_log, IF(p_connection IS NULL, 'x', 'r'), v_wake);
    COMMIT;
    CALL hf_wake(v_wake);
    IF p_connection IS NOT NULL THEN
        CALL hf_begin();
        CALL hf_sweep_lines(100, v_count);
        COMMIT;
    END IF;
    SELECT 0;
END //

-- ---- Places -------------------------------------------------------------------------------------

CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_enter(
    p_sid VARBINARY(16), p_connection BIGINT, p_id BIGINT, p_name LONGBLOB, p_weight BIGINT,
    p_capacity BIGINT, p_claim INT, p_only_free INT, p_limit BIGINT, p_note LONGBLOB,
    p_grant_secret LONGBLOB) SQL SECURITY DEFINER
me: BEGIN
    DECLARE v_log, v_line_claim, v_watched, v_waits INT;
    DECLARE v_capacity, v_used, v_holders, v_waiting, v_last, v_seq, v_since, v_slot BIGINT;
    DECLARE v_code INT DEFAULT NULL;
    DECLARE v_wake MEDIUMBLOB DEFAULT NULL;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    -- A CALL costs more than a statement, so the usual way has none.
    IF @@read_only OR @@tx_isolation <> 'READ-COMMITTED' OR p_weight < 1 OR
        p_weight > p_capacity OR p_capacity > 4294967295 OR LENGTH(p_name) NOT BETWEEN 1 AND 255 OR
        LENGTH(p_note) > 8192 OR LENGTH(p_grant_secret) > 64 THEN
        CALL hf_check_shape(p_name, p_weight, p_capacity, p_note, p_grant_secret);
        CALL hf_begin();
    ELSE
        START TRANSACTION;
    END IF;
    SELECT log INTO v_log FROM hf_session
    WHERE sid = p_sid AND connection = p_connection LOCK IN SHARE MODE;
    IF v_log IS NULL THEN
        CALL hf_check_session(p_sid, p_connection, v_code, v_log);
        ROLLBACK;
        SELECT v_code;
        LEAVE me;
    END IF;
    SELECT capacity, claim, used, holders, waiting, last, watched
    INTO v_capacity, v_line_claim, v_used, v_holders, v_waiting, v_last, v_watched
    FROM hf_line WHERE name = p_name FOR UPDATE;
    IF v_capacity IS NULL THEN
        CALL hf_make_line(p_name, p_capacity, p_claim);
        SELECT capacity, claim, used, holders, waiting, last, watched
        INTO v_capacity, v_line_claim, v_used, v_holders, v_waiting, v_last, v_watched
        FROM hf_line WHERE name = p_name;
    END IF;
    -- The rule: a place is granted if nobody waits ahead of it and it fits beside the holders.
    SET v_waits = NOT (v_waiting = 0 AND v_used + p_weight <= p_capacity), v_code = NULL;
    IF v_holders + v_waiting > 0 AND (v_capacity <> p_capacity OR v_line_claim <> p_claim) THEN
        SET v_code = 4;
    ELSEIF v_waits AND p_only_free THEN
        SET v_code = 0;
    ELSEIF v_waits AND p_limit > 0 AND v_waiting >= p_limit THEN
        SET v_code = 5;
    END IF;
    IF v_code IS NOT NULL AND NOT EXISTS (SELECT 1 FROM hf_place WHERE sid = p_sid AND id = p_id) THEN
        -- with the seq of a place that is in the way
        SELECT v_code, 'r', COALESCE(MAX(seq), 0) FROM hf_place
        WHERE name = p_name AND state IN ('g', 'w');
        COMMIT;
        LEAVE me;
    END IF;
    SET v_slot = -1, v_since = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    SET v_seq = GREATEST(v_last + 1, v_since);
    IF NOT v_waits AND p_capacity NOT IN (1, 4294967295) THEN
        CALL hf_free_slot(p_name, p_capacity, v_holders, v_slot);
    END IF;
    INSERT IGNORE INTO hf_place VALUES (p_sid, p_id, p_name, v_seq, p_weight, p_claim,
        p_grant_secret, IF(v_waits, 'w', 'g'), v_slot, v_since, NULL, p_note);
    IF ROW_COUNT() = 0 THEN -- a repeat: the first answer was lost
        CALL hf_write_something();
        CALL hf_own_place(p_sid, p_id);
        COMMIT;
        LEAVE me;
    END IF;
    UPDATE hf_line SET capacity = p_capacity, claim = p_claim, changes = changes + 1, last = v_seq,
        used = used + IF(v_waits, 0, p_weight), holders = holders + (NOT v_waits),
        waiting = waiting + v_waits, watched = 0 WHERE name = p_name;
    IF v_log >= 2 THEN
        CALL hf_note_history(IF(v_waits, 'e', 'g'), p_sid, p_id, NULL);
    END IF;
    IF v_watched OR v_log & 1 THEN
        CALL hf_note_change(p_name, v_watched, v_log, v_wake);
    END IF;
    COMMIT;
    IF v_wake IS NOT NULL THEN
        CALL hf_wake(v_wake);
    END IF;
    SELECT 0, IF(v_waits, 'w', 'g'), v_seq, v_slot, v_since, p_weight,
           IF(v_waits, v_holders + v_waiting, 0), NULL;
END //

-- Remove a place from its line, whose row is locked; p_state is that of the place.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_remove_place(
    p_name VARBINARY(255), p_state BINARY(1), p_weight BIGINT, p_log INT, INOUT p_wake MEDIUMBLOB)
    SQL SECURITY DEFINER
BEGIN
    UPDATE hf_line SET used = used - IF(p_state = 'g', p_weight, 0),
        holders = holders - (p_state = 'g'), waiting = waiting - (p_state = 'w')
    WHERE name = p_name;
    CALL hf_grant_waiters(p_name, '', 0, p_log, p_wake);
END //

CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_leave(
    p_sid VARBINARY(16), p_connection BIGINT, p_id BIGINT, p_name LONGBLOB) SQL SECURITY DEFINER
me: BEGIN
    DECLARE v_code, v_log, v_watched INT;
    DECLARE v_weight, v_waiting BIGINT;
    DECLARE v_state BINARY(1) DEFAULT '-';
    DECLARE v_wake MEDIUMBLOB DEFAULT NULL;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    IF @@read_only OR @@tx_isolation <> 'READ-COMMITTED' THEN
        CALL hf_begin();
    ELSE
        START TRANSACTION;
    END IF;
    SELECT log INTO v_log FROM hf_session
    WHERE sid = p_sid AND connection = p_connection LOCK IN SHARE MODE;
    IF v_log IS NULL THEN
        CALL hf_check_session(p_sid, p_connection, v_code, v_log);
        ROLLBACK;
        SELECT v_code, 0;
        LEAVE me;
    END IF;
    SELECT waiting, watched INTO v_waiting, v_watched FROM hf_line WHERE name = p_name FOR UPDATE;
    SELECT state, weight INTO v_state, v_weight FROM hf_place
    WHERE sid = p_sid AND id = p_id AND name = p_name;
    IF v_state IN ('g', 'w') THEN
        IF v_log >= 2 THEN
            CALL hf_note_history(IF(v_state = 'g', 'r', 'l'), p_sid, p_id, NULL);
        END IF;
        DELETE FROM hf_place WHERE sid = p_sid AND id = p_id;
        IF v_waiting = 0 AND NOT v_watched AND v_log = 0 THEN -- nobody to notify, nothing to log
            UPDATE hf_line SET used = used - v_weight, holders = holders - 1, changes = changes + 1
            WHERE name = p_name;
        ELSE
            CALL hf_remove_place(p_name, v_state, v_weight, v_log, v_wake);
        END IF;
    ELSE
        CALL hf_write_something();
    END IF;
    COMMIT;
    IF v_wake IS NOT NULL THEN
        CALL hf_wake(v_wake);
    END IF;
    SELECT 0, v_state = 'b';
END //

CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_read(
    p_sid VARBINARY(16), p_connection BIGINT, p_id BIGINT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_code, v_log INT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_begin();
    CALL hf_check_session(p_sid, p_connection, v_code, v_log);
    IF v_code <> 0 THEN
        SELECT v_code, '-';
    ELSE
        CALL hf_write_something();
        CALL hf_own_place(p_sid, p_id);
    END IF;
    COMMIT;
END //

CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_downgrade(
    p_sid VARBINARY(16), p_connection BIGINT, p_id BIGINT, p_weight BIGINT) SQL SECURITY DEFINER
me: BEGIN
    DECLARE v_code, v_log INT;
    DECLARE v_name VARBINARY(255) DEFAULT NULL;
    DECLARE v_weight BIGINT;
    DECLARE v_state BINARY(1) DEFAULT '-';
    DECLARE v_wake MEDIUMBLOB DEFAULT NULL;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_begin();
    CALL hf_check_session(p_sid, p_connection, v_code, v_log);
    IF v_code <> 0 THEN
        ROLLBACK;
        SELECT v_code, '-';
        LEAVE me;
    END IF;
    SELECT name INTO v_name FROM hf_place WHERE sid = p_sid AND id = p_id;
    SELECT capacity INTO v_weight FROM hf_line WHERE name = v_name FOR UPDATE;
    SELECT state, weight INTO v_state, v_weight FROM hf_place WHERE sid = p_sid AND id = p_id;
    IF v_state IN ('g', 'w') AND p_weight < v_weight THEN
        CALL hf_check_shape(v_name, p_weight, v_weight, '', '');
        UPDATE hf_place SET weight = p_weight WHERE sid = p_sid AND id = p_id;
        UPDATE hf_line SET used = used - IF(v_state = 'g', v_weight - p_weight, 0)
        WHERE name = v_name;
        IF v_log >= 2 THEN
            CALL hf_note_history('d', p_sid, p_id, NULL);
        END IF;
        CALL hf_grant_waiters(v_name, p_sid, p_id, v_log, v_wake);
    ELSE
        CALL hf_write_something();
    END IF;
    CALL hf_own_place(p_sid, p_id); -- a later grant might not be on disk yet
    COMMIT;
    IF v_wake IS NOT NULL THEN
        CALL hf_wake(v_wake);
    END IF;
END //

-- Ask for one message when the line changes.  The answer 1: there will be none, because the place
-- p_seq has left already, or, if p_seq is 0, because the line has changed since p_stamp (0: not
-- known).
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_watch_line(
    p_sid VARBINARY(16), p_connection BIGINT, p_name LONGBLOB, p_stamp BIGINT, p_seq BIGINT)
    SQL SECURITY DEFINER
me: BEGIN
    DECLARE v_code, v_log, v_changed INT DEFAULT 0;
    DECLARE v_changes, v_places BIGINT DEFAULT NULL;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_check_shape(p_name, 1, 1, '', '');
    CALL hf_begin();
    CALL hf_check_session(p_sid, p_connection, v_code, v_log);
    SELECT changes INTO v_changes FROM hf_line WHERE name = p_name;
    IF v_code <> 0 OR p_seq = 0 AND p_stamp <> 0 AND p_stamp <> COALESCE(v_changes, 1) THEN
        ROLLBACK;
        SELECT v_code, 1;
        LEAVE me;
    END IF;
    CALL hf_make_line(p_name, 1, 0);
    IF p_seq = 0 THEN -- stamp 1: there was no line, which is the same as an empty one
        SELECT changes, holders + waiting INTO v_changes, v_places FROM hf_line WHERE name = p_name;
        SET v_changed = IF(p_stamp = 1, v_places > 0, p_stamp > 1 AND p_stamp <> v_changes);
    ELSE
        SET v_changed = NOT EXISTS (SELECT 1 FROM hf_place WHERE name = p_name AND seq = p_seq AND
                                    state IN ('g', 'w'));
    END IF;
    IF NOT v_changed THEN
        INSERT IGNORE INTO hf_watch VALUES (p_name, p_sid);
        UPDATE hf_line SET watched = 1 WHERE name = p_name AND NOT watched;
    END IF;
    COMMIT;
    SELECT 0, v_changed;
END //

-- ---- The store watch and history ------------------------------------------------------------------

-- Set what is written to the change log from now on.  Every session's row has a copy, since a
-- procedure that changes a line reads that row anyway.  The UPDATE waits for calls of these sessions
-- that are in progress, so once this is committed no change goes unrecorded.  The caller has locked
-- hf_log, and no session before it.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_set_log(p_log INT) SQL SECURITY DEFINER
BEGIN
    UPDATE hf_log SET log = p_log WHERE log <> p_log;
    UPDATE hf_session SET log = p_log WHERE log <> p_log;
END //

-- Which lines have changed since the answer with that stamp?  The first row is { 0, stamp, 0, all
-- may have }.  Then follows a row for each changed line.  p_end: the caller's store watch ends.
--
-- A store watch that begins locks hf_log: every change that does not know of it is committed by
-- then, and every later one does.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_watch_store(
    p_sid VARBINARY(16), p_connection BIGINT, p_stamp BIGINT, p_end INT) SQL SECURITY DEFINER
me: BEGIN
    DECLARE v_code, v_log, v_mine, v_new INT DEFAULT 0;
    DECLARE v_stamp, v_count BIGINT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_begin();
    SET v_new = NOT EXISTS (SELECT 1 FROM hf_store_watcher WHERE sid = p_sid AND stamp = p_stamp);
    IF v_new OR p_end THEN -- lock this before the session
        SELECT log INTO v_log FROM hf_log FOR UPDATE;
    END IF;
    CALL hf_check_session(p_sid, p_connection, v_code, v_mine);
    IF v_code <> 0 THEN
        ROLLBACK;
        SELECT v_code, 0, 0, 0;
        LEAVE me;
    END IF;
    IF v_new OR p_end THEN
        DELETE FROM hf_store_watcher WHERE sid = p_sid;
        DELETE FROM hf_changed WHERE sid = p_sid;
        IF NOT p_end THEN
            SET v_stamp = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
            IF NOT v_log & 1 THEN
                CALL hf_set_log(v_log | 1);
            END IF;
            INSERT INTO hf_store_watcher VALUES (p_sid, v_stamp);
        ELSEIF v_log & 1 AND NOT EXISTS (SELECT 1 FROM hf_store_watcher) THEN
            CALL hf_set_log(v_log - 1);
        END IF;
        COMMIT;
        SELECT 0, v_stamp, 0, 1;
        LEAVE me;
    END IF;
    SELECT COUNT(*) INTO v_count FROM hf_changed WHERE sid = p_sid;
    UPDATE hf_store_watcher SET stamp = stamp + (v_count > 0) WHERE sid = p_sid;
    SELECT 0, stamp, 0, v_count > 1000 FROM hf_store_watcher WHERE sid = p_sid;
    IF v_count > 1000 THEN
        DELETE FROM hf_changed WHERE sid = p_sid;
    ELSEIF v_count > 0 THEN
        DELETE FROM hf_changed WHERE sid = p_sid RETURNING 0, 0, 0, 0, name;
    END IF;
    COMMIT;
END //

-- Number the history entries that were committed since the last call, and delete the oldest.  The
-- UPDATE waits for entries that are not committed yet, so numbers are in the order of id.  The caller
-- has locked hf_log.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_number_history() SQL SECURITY DEFINER
BEGIN
    DECLARE v_length BIGINT;
    SELECT number, history INTO @hf_number, v_length FROM hf_log;
    UPDATE hf_history_entry SET number = (@hf_number := @hf_number + 1)
    WHERE number IS NULL ORDER BY id;
    UPDATE hf_log SET number = @hf_number WHERE number <> @hf_number;
    DELETE FROM hf_history_entry WHERE number <= @hf_number - v_length;
END //

-- Set how many history entries to keep; 0 keeps none and deletes all.  Numbers start from the
-- clock, so they are higher than all before.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_keep_history(p_length BIGINT)
    SQL SECURITY DEFINER
BEGIN
    DECLARE v_log INT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    IF p_length NOT BETWEEN 0 AND 100000 THEN
        SIGNAL SQLSTATE 'HF007' SET MESSAGE_TEXT = 'a history cannot have so many entries';
    END IF;
    CALL hf_begin();
    SELECT log INTO v_log FROM hf_log FOR UPDATE;
    CALL hf_set_log(IF(p_length > 0, v_log | 2, v_log & 1));
    UPDATE hf_log SET number = IF(history = 0, GREATEST(number,
            TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))), number),
        history = p_length WHERE history <> p_length;
    IF p_length = 0 THEN
        DELETE FROM hf_history_entry;
    END IF;
    COMMIT;
    SELECT 0;
END //

-- The history after that number, of one line or of all (NULL).  The first row has the code and the
-- number of the newest entry; code 6: no history is kept.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_history(
    p_name LONGBLOB, p_after BIGINT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_length, v_newest BIGINT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_begin();
    SELECT history INTO v_length FROM hf_log FOR UPDATE;
    IF v_length = 0 THEN
        SELECT 6;
    ELSE
        CALL hf_number_history();
        SELECT number INTO v_newest FROM hf_log;
        SELECT 0, v_newest;
        SELECT 0, number, time, what, name, seq, weight, capacity, claim, slot, note, reason
        FROM hf_history_entry
        WHERE number > IF(p_after > v_newest, 0, p_after) AND (p_name IS NULL OR name = p_name)
        ORDER BY number;
    END IF;
    COMMIT;
END //

-- ---- Places of others -----------------------------------------------------------------------------

-- p_by is for the history: a text that names the caller.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_break_place(
    p_name LONGBLOB, p_seq BIGINT, p_by LONGBLOB) SQL SECURITY DEFINER
BEGIN
    DECLARE v_log INT;
    DECLARE v_id, v_weight BIGINT;
    DECLARE v_sid VARBINARY(16) DEFAULT NULL;
    DECLARE v_state BINARY(1);
    DECLARE v_wake MEDIUMBLOB DEFAULT NULL;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_check_shape('x', 1, 1, COALESCE(p_by, ''), '');
    CALL hf_begin();
    SELECT log INTO v_log FROM hf_log LOCK IN SHARE MODE; -- the caller may have no session
    SELECT capacity INTO v_weight FROM hf_line WHERE name = p_name FOR UPDATE;
    SELECT sid, id, weight, state INTO v_sid, v_id, v_weight, v_state FROM hf_place
    WHERE name = p_name AND seq = p_seq AND state IN ('g', 'w');
    IF v_sid IS NOT NULL THEN
        IF v_log >= 2 THEN
            CALL hf_note_history(IF(v_state = 'g', 'b', 'l'), v_sid, v_id, p_by);
        END IF;
        UPDATE hf_place SET state = 'b' WHERE sid = v_sid AND id = v_id;
        CALL hf_remove_place(p_name, v_state, v_weight, v_log, v_wake);
        CALL hf_send(v_sid, CONCAT('b ', v_id), v_wake);
    END IF;
    COMMIT;
    CALL hf_wake(v_wake);
    SELECT IF(v_sid IS NULL, 6, 0);
END //

CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_ask(
    p_name LONGBLOB, p_seq BIGINT, p_why LONGBLOB) SQL SECURITY DEFINER
BEGIN
    DECLARE v_log INT;
    DECLARE v_id, v_capacity BIGINT;
    DECLARE v_sid VARBINARY(16) DEFAULT NULL;
    DECLARE v_wake MEDIUMBLOB DEFAULT NULL;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_check_shape('x', 1, 1, p_why, '');
    CALL hf_begin();
    SELECT log INTO v_log FROM hf_log;
    SELECT capacity INTO v_capacity FROM hf_line WHERE name = p_name FOR UPDATE;
    SELECT sid, id INTO v_sid, v_id FROM hf_place
    WHERE name = p_name AND seq = p_seq AND state IN ('g', 'w');
    IF v_sid IS NOT NULL THEN
        UPDATE hf_place SET asked = p_why WHERE sid = v_sid AND id = v_id;
        IF v_log >= 2 THEN
            CALL hf_note_history('a', v_sid, v_id, p_why);
        END IF;
        CALL hf_send(v_sid, CONCAT('a ', v_id), v_wake);
    END IF;
    COMMIT;
    CALL hf_wake(v_wake);
    SELECT IF(v_sid IS NULL, 6, 0);
END //

-- Does a holder have that token?
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_verify(p_name LONGBLOB, p_token BIGINT)
    SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL hf_begin();
    CALL hf_write_something();
    SELECT IF(EXISTS (SELECT 1 FROM hf_place WHERE name = p_name AND seq = p_token AND
                      state = 'g'), 0, 6);
    COMMIT;
END //

-- All places in one line, or in all lines (NULL).  The first row has only the stamp.  renewal and
-- ttl are those of the place's session.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_list(p_name LONGBLOB) SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; -- both statements see the same
    START TRANSACTION WITH CONSISTENT SNAPSHOT;
    SELECT 0, COALESCE((SELECT changes FROM hf_line WHERE name = p_name), 1);
    SELECT 0, l.changes, p.name, p.seq, p.weight, l.capacity, l.claim, p.state, p.slot, p.since,
           p.note, s.renewal, s.ttl
    FROM hf_place p JOIN hf_line l ON l.name = p.name LEFT JOIN hf_session s ON s.sid = p.sid
    WHERE p.state IN ('g', 'w') AND (p_name IS NULL OR p.name = p_name);
    COMMIT;
END //

-- For doctor.  The first row: totals of all lines and of the one with that name, the highest token,
-- and how many lines have wrong totals.  The second: facts about the server.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_overview(p_name LONGBLOB)
    SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
    START TRANSACTION WITH CONSISTENT SNAPSHOT;
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
    COMMIT;
    SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), SESSION_USER(), CURRENT_USER(),
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

-- ---- For the data that a lock protects --------------------------------------------------------------

-- Call it first in a transaction that changes what the lock protects.  It fails if a later holder
-- has called it before, and keeps later holders out until the transaction ends.  Holders that share
-- a lock, as readers do, may call it in any order while they hold it.
CREATE OR REPLACE DEFINER = holdfast@localhost PROCEDURE hf_check_fence(
    p_name LONGBLOB, p_token BIGINT) SQL SECURITY DEFINER
BEGIN
    DECLARE v_token BIGINT;
    CALL hf_check_shape(p_name, 1, 1, '', '');
    INSERT INTO hf_fence VALUES (p_name, p_token)
    ON DUPLICATE KEY UPDATE token = GREATEST(token, p_token);
    SELECT token INTO v_token FROM hf_fence WHERE name = p_name FOR UPDATE;
    IF v_token > p_token AND NOT EXISTS (SELECT 1 FROM hf_place WHERE name = p_name AND
                                         seq = p_token AND state = 'g') THEN
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
        UNION ALL SELECT CONCAT('GRANT EXECUTE ON PROCEDURE ', ROUTINE_NAME)
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

-- The tables and procedures are complete.
UPDATE hf_head SET version = @hf_version WHERE version = 0 //
