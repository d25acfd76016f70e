-- schema.sql - lines in a PostgreSQL database, and the functions that change them.
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
-- A line is biased toward a session while only that session uses it, as a mutex or for writing:
-- the holder is in the line's own row, and no other row is read or written to take and to release
-- the lock.  unfold() makes it an ordinary line, with a row in holdfast.place for the holder.
--
-- Functions lock the caller's session first, then lines in the order of their names.  The first
-- column of an answer is a code: 0 done, 2 no such session, 3 the session has a newer connection,
-- 4 the line is in use for another kind of lock, 5 too many waiters, 6 no such place, 7 another
-- version of the layout.  Answers about one place are a text with a blank between the columns:
-- code, state, seq, slot, since, weight, how many are ahead, and why somebody asked for it, if so.
--
-- The script may be run again.  It changes nothing that belongs to another role.  schema.c makes
-- one statement of it, a DO block that first sets holdfast.version, the version of this layout: so
-- all of it is done or nothing, however it is run, and a caller may still roll it back.
--
-- Every layout has these for the next one: head.version, head.floor, fence, a row in session for
-- each client, and line.last.
PERFORM pg_catalog.pg_advisory_xact_lock(4846281),
        pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

-- A trigger or a default that another role had put there would run with our rights.
DO $$
DECLARE
    v_me      oid := (SELECT oid FROM pg_roles WHERE rolname = current_user);
    v_schema  oid;
    v_owner   oid;
    v_other   text;
    v_ours    integer := current_setting('holdfast.version');
    v_version integer;
    v_sessions bigint;
    v_drop    text;
BEGIN
    SELECT oid, nspowner INTO v_schema, v_owner FROM pg_namespace WHERE nspname = 'holdfast';
    IF NOT FOUND THEN
        CREATE SCHEMA holdfast;
        RETURN;
    END IF;
    SELECT pg_get_userbyid(owner) INTO v_other FROM (
        SELECT v_owner AS owner
        UNION ALL SELECT relowner FROM pg_class WHERE relnamespace = v_schema
        UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace = v_schema
        UNION ALL SELECT typowner FROM pg_type WHERE typnamespace = v_schema) AS there
    WHERE owner <> v_me LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'it, or something in it, belongs to "%"', v_other USING ERRCODE = 'HF003';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = v_schema) THEN
        RETURN;
    END IF;
    EXECUTE 'SELECT version FROM holdfast.head' INTO v_version;
    IF v_version = v_ours THEN
        RETURN;
    ELSIF v_version IS NULL OR v_version > v_ours THEN
        RAISE EXCEPTION 'it is of version %, ours of %', v_version, v_ours USING ERRCODE = 'HF004';
    END IF;

    -- Replace an older layout once it has no sessions.  hello() reads head first, so a session that
    -- begins now is either counted here or refused by the new hello().
    EXECUTE 'SELECT count(*) FROM holdfast.session' INTO v_sessions;
    IF v_sessions = 0 THEN
        LOCK TABLE holdfast.head IN ACCESS EXCLUSIVE MODE;
        EXECUTE 'SELECT count(*) FROM holdfast.session' INTO v_sessions;
    END IF;
    IF v_sessions > 0 THEN
        RAISE EXCEPTION 'it is of version %, ours of %, and it has % sessions: SELECT * FROM '
            'holdfast.session', v_version, v_ours, v_sessions USING ERRCODE = 'HF004';
    END IF;
    EXECUTE 'UPDATE holdfast.head SET floor = greatest(floor, (SELECT max(last) FROM holdfast.line))';
    FOR v_drop IN
        SELECT format('DROP ROUTINE %s', oid::regprocedure) FROM pg_proc
        WHERE pronamespace = v_schema AND proname <> 'fence'
        UNION ALL SELECT format('DROP VIEW %s', oid::regclass) FROM pg_class
        WHERE relnamespace = v_schema AND relkind = 'v'
        UNION ALL SELECT format('DROP TYPE %s', oid::regclass) FROM pg_class
        WHERE relnamespace = v_schema AND relkind = 'c'
        UNION ALL SELECT format('DROP TABLE %s', oid::regclass) FROM pg_class
        WHERE relnamespace = v_schema AND relkind = 'r' AND relname NOT IN ('head', 'fence')
        UNION ALL SELECT format('DROP SEQUENCE %s', oid::regclass) FROM pg_class
        WHERE relnamespace = v_schema AND relkind = 'S'
    LOOP
        EXECUTE v_drop;
    END LOOP;
    EXECUTE 'UPDATE holdfast.head SET version = $1, swept = ''''' USING v_ours;
END $$;

CREATE TABLE IF NOT EXISTS holdfast.head (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL,
    floor   bigint  NOT NULL, -- highest token of all lines that were deleted
    swept   text    NOT NULL  -- the last line that sweep() looked at
);
INSERT INTO holdfast.head (version, floor, swept)
VALUES (current_setting('holdfast.version')::integer, 0, '')
ON CONFLICT DO NOTHING;

CREATE SEQUENCE IF NOT EXISTS holdfast.renewal;

CREATE TABLE IF NOT EXISTS holdfast.session (
    sid        text   PRIMARY KEY CHECK (sid ~ '^[0-9a-f]{16}$'),
    connection bigint NOT NULL,
    renewal    bigint NOT NULL,
    renewed    bigint NOT NULL, -- microseconds since 1970: see expire_silent()
    ttl        bigint NOT NULL CHECK (ttl BETWEEN 500 AND 3600000), -- milliseconds
    note       text   NOT NULL, -- the client's version of Holdfast, for people
    log        integer NOT NULL -- copy of change_log.log
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX IF NOT EXISTS session_renewal ON holdfast.session (renewal);

-- line and place have no CHECK: the server parses a CHECK again for each statement, which took a
-- sixth of the time of enter and leave.  check_shape() does it instead.
CREATE TABLE IF NOT EXISTS holdfast.line (
    name     text    PRIMARY KEY,
    capacity bigint  NOT NULL,
    claim    boolean NOT NULL,
    used     bigint  NOT NULL, -- total weight of all holders
    holders  bigint  NOT NULL,
    waiting  bigint  NOT NULL,
    last     bigint  NOT NULL, -- last token given out
    changes  bigint  NOT NULL,
    watched  boolean NOT NULL DEFAULT false, -- holdfast.watch has a row for it
    -- Toward whom it is biased: this session, on this connection.  Else connection is NULL.
    sid        text,
    connection bigint,
    -- The place of a holder that has no row in holdfast.place.  Else id is NULL.
    id       bigint,
    seq      bigint,
    since    bigint,
    note     text
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

CREATE TABLE IF NOT EXISTS holdfast.place (
    sid      text    NOT NULL,
    id       bigint  NOT NULL,
    name     text    NOT NULL,
    seq      bigint  NOT NULL,
    weight   bigint  NOT NULL,
    claim    boolean NOT NULL,
    grant_secret text NOT NULL, -- the owner believes a message that grants the place only with it
    state    "char"  NOT NULL, -- g granted, w waiting, b broken
    slot     integer NOT NULL,
    since    bigint  NOT NULL, -- microseconds since 1970, for people
    messages bigint  NOT NULL, -- messages sent about it
    asked    text,
    note     text    NOT NULL,
    PRIMARY KEY (sid, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX IF NOT EXISTS place_line ON holdfast.place (name, seq) WHERE state <> 'b';
CREATE INDEX IF NOT EXISTS place_waiting ON holdfast.place (name, seq) WHERE state = 'w';
CREATE UNIQUE INDEX IF NOT EXISTS place_claim ON holdfast.place (name)
    WHERE claim AND state <> 'b';
CREATE INDEX IF NOT EXISTS place_sid_waiting ON holdfast.place (sid) WHERE state = 'w';
CREATE INDEX IF NOT EXISTS place_messages ON holdfast.place (sid) WHERE messages > 0;

-- Each line that is biased toward a session has a row here; so may other lines.  (An index of
-- holdfast.line would have to be written whenever the lock is taken.)  What ends a session, or moves
-- it to another connection, unfolds all of them at once: so a session has no more than one for each of
-- 1024 hashes of names.
CREATE TABLE IF NOT EXISTS holdfast.bias (
    name text NOT NULL,
    sid  text NOT NULL,
    PRIMARY KEY (name, sid)
);
CREATE INDEX IF NOT EXISTS bias_bucket ON holdfast.bias (sid, (hashtext(name) & 1023));

CREATE OR REPLACE VIEW holdfast.every_place AS
    SELECT sid, id, name, seq, weight, claim, state, slot, since, asked, note
    FROM holdfast.place WHERE state <> 'b'
    UNION ALL
    SELECT sid, id, name, seq, capacity, claim, 'g'::"char", -1, since, NULL, note
    FROM holdfast.line WHERE id IS NOT NULL;

CREATE TABLE IF NOT EXISTS holdfast.watch (
    name text NOT NULL,
    sid  text NOT NULL,
    PRIMARY KEY (name, sid)
);
CREATE INDEX IF NOT EXISTS watch_sid ON holdfast.watch (sid);

-- The change log: what is written down when a line changes.
CREATE TABLE IF NOT EXISTS holdfast.change_log (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    log     integer NOT NULL, -- bits: 1 changed lines, for store watches; 2 history: see set_log()
    history integer NOT NULL, -- number of history entries to keep
    number  bigint  NOT NULL  -- of the newest entry
);
INSERT INTO holdfast.change_log (log, history, number) VALUES (0, 0, 0) ON CONFLICT DO NOTHING;

-- Sessions with a store watch, and the lines that changed since the first of them began, each with
-- the transaction that changed it last.  After a crash or a failover both tables are empty, and a
-- store watch lists everything again.
CREATE UNLOGGED TABLE IF NOT EXISTS holdfast.store_watcher (
    sid    text    PRIMARY KEY,
    stamp  bigint  NOT NULL, -- of the last answer
    seen   txid_snapshot NOT NULL, -- snapshot of the last answer
    waits  boolean NOT NULL, -- notify it of the next change
    settle bigint            -- all transactions before this one must end first: see watch_store()
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE UNLOGGED TABLE IF NOT EXISTS holdfast.changed_line (
    name text   PRIMARY KEY,
    xid  bigint NOT NULL
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- History; empty after a crash or a failover.  number_history() numbers the entries later: to
-- number them when they are written would let only one transaction commit at a time.
CREATE SEQUENCE IF NOT EXISTS holdfast.history_id;
CREATE UNLOGGED TABLE IF NOT EXISTS holdfast.history_entry (
    id       bigint  NOT NULL DEFAULT nextval('holdfast.history_id'),
    number   bigint,
    what     "char"  NOT NULL, -- as HF_PAST_... of store.h
    time     bigint  NOT NULL, -- microseconds since 1970
    name     text    NOT NULL,
    seq      bigint  NOT NULL,
    weight   bigint  NOT NULL,
    capacity bigint  NOT NULL,
    claim    boolean NOT NULL,
    slot     integer NOT NULL,
    note     text    NOT NULL,
    reason   text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- The highest token that holdfast.fence() has seen for each lock.
CREATE TABLE IF NOT EXISTS holdfast.fence (
    name  text   PRIMARY KEY,
    token bigint NOT NULL
);

-- ---- For the functions below ------------------------------------------------------------------
--
-- A function call costs as much as a statement, and a statement as much as a dozen expressions.
-- One statement that does the work of two by WITH costs more than the two.  `v_x := f()` costs less
-- than PERFORM f().  The server inlines a function in LANGUAGE sql that is one expression, without
-- SET and SECURITY DEFINER (test/postgres/functions.py checks that).

-- The rule: a place is granted if nobody waits ahead of it and it fits beside the holders.
CREATE OR REPLACE FUNCTION holdfast.fits(p_ahead bigint, p_used bigint, p_weight bigint,
                                         p_capacity bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_ahead = 0 AND p_used + p_weight <= p_capacity
$$;

CREATE OR REPLACE FUNCTION holdfast.microseconds() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint
$$;

-- A statement that has waited for a row must see everything that was committed meanwhile.
CREATE OR REPLACE FUNCTION holdfast.check_isolation() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'holdfast needs transactions that are read committed'
            USING ERRCODE = 'HF001';
    END IF;
END $$;

-- The caller's changes must be on disk before it is answered.  If the server gives up waiting for a
-- synchronous standby, its warning must reach the client.
CREATE OR REPLACE FUNCTION holdfast.ensure_durable() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF current_setting('client_min_messages') = 'error' THEN
        PERFORM set_config('client_min_messages', 'warning', true);
    END IF;
END $$;

-- Refuse invalid numbers: every client would read such a row.
CREATE OR REPLACE FUNCTION holdfast.check_shape(p_name text, p_weight bigint, p_capacity bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF octet_length(p_name) NOT BETWEEN 1 AND 255 OR p_weight < 1 OR p_weight > p_capacity OR
        p_capacity > 4294967295 THEN
        RAISE EXCEPTION 'no place has weight % of % in a line called "%"', p_weight, p_capacity,
            left(p_name, 255) USING ERRCODE = 'check_violation';
    END IF;
END $$;

-- Everybody sees a note.  A grant secret goes into a NOTIFY, which has room for 8,000 bytes.
CREATE OR REPLACE FUNCTION holdfast.check_texts(p_note text, p_grant_secret text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF octet_length(p_note) > 8192 OR octet_length(p_grant_secret) > 64 THEN
        RAISE EXCEPTION 'a note or reason has % bytes of 8192 at most, its grant secret % of 64',
            octet_length(p_note), octet_length(p_grant_secret) USING ERRCODE = 'check_violation';
    END IF;
END $$;

-- The era: one run of one server on one timeline.  Renewal numbers of another era do not count: the
-- data may be those of a snapshot, or of a standby that missed the last commits.
CREATE OR REPLACE FUNCTION holdfast.era() RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || ' ' ||
           (date_part('epoch', pg_postmaster_start_time()) * 1000000)::bigint;
END $$;

-- If the server's notification queue were full, NOTIFY would fail and undo the transaction.  A
-- session that gets no message finds out with its next renewal.
CREATE OR REPLACE FUNCTION holdfast.notify(p_sid text, p_text text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF pg_notification_queue_usage() < 0.9 THEN
        PERFORM pg_notify('hf_' || p_sid, p_text);
    END IF;
END $$;

-- Lock a session: until the transaction ends it cannot expire or get a newer connection.  Returns
-- 0, 2 or 3.
CREATE OR REPLACE FUNCTION holdfast.check_session(p_sid text, p_connection bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_connection bigint;
BEGIN
    PERFORM holdfast.check_isolation();
    SELECT connection INTO v_connection FROM holdfast.session WHERE sid = p_sid FOR SHARE;
    RETURN CASE WHEN v_connection IS NULL THEN 2
                WHEN v_connection = p_connection THEN 0 ELSE 3 END;
END $$;

-- The same for enter_line() and leave_line(), if the session's row is locked or not there.  An UPDATE
-- that has waited for a line's row has locked it, even if it then changed nothing.  To wait for the
-- session after that could deadlock, so let the client repeat the call.
CREATE OR REPLACE FUNCTION holdfast.await_session(p_sid text, p_connection bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF txid_current_if_assigned() IS NOT NULL AND EXISTS (
        SELECT FROM holdfast.session WHERE sid = p_sid AND connection = p_connection) THEN
        RAISE EXCEPTION 'the session is locked' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN holdfast.check_session(p_sid, p_connection);
END $$;

-- Lock these lines, and make them ordinary ones: a holder in a line's row gets a row of its own.  A
-- session that has used one id twice, which no client of ours does, loses the second place.
-- (NO KEY: verify() does not have to wait.)
CREATE OR REPLACE FUNCTION holdfast.unfold(p_names text[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    p_names := ARRAY (SELECT name FROM holdfast.line WHERE name = ANY (p_names)
                      ORDER BY name FOR NO KEY UPDATE); -- without lines that were deleted
    INSERT INTO holdfast.place (sid, id, name, seq, weight, claim, grant_secret, state, slot, since,
                                messages, note)
    SELECT sid, id, name, seq, capacity, claim, '', 'g', -1, since, 0, note
    FROM holdfast.line WHERE name = ANY (p_names) AND id IS NOT NULL
    ON CONFLICT (sid, id) DO NOTHING;
    UPDATE holdfast.line l
    SET connection = NULL, id = NULL,
        (holders, used) = (SELECT count(*), coalesce(sum(t.weight), 0) FROM holdfast.place t
                           WHERE t.sid = l.sid AND t.id = l.id AND t.name = l.name)
    WHERE name = ANY (p_names) AND connection IS NOT NULL;
END $$;

-- Lock the lines in which these sessions have places, that they watch, or that are biased toward
-- them, and unfold them.  The caller has locked the sessions' rows.  So once this returns, no call of
-- theirs is in progress, and the next one finds their rows.
CREATE OR REPLACE FUNCTION holdfast.unfold_sessions(p_sids text[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM holdfast.unfold(ARRAY (
        SELECT name FROM holdfast.place WHERE sid = ANY (p_sids) AND state <> 'b'
        UNION
        SELECT name FROM holdfast.watch WHERE sid = ANY (p_sids)
        UNION
        SELECT l.name FROM holdfast.bias b JOIN holdfast.line l ON l.name = b.name
        WHERE b.sid = ANY (p_sids) AND l.sid = b.sid AND l.connection IS NOT NULL));
END $$;

-- Lock a line, unfold it, and return its row; NULL if there is none.  To read the row later than it
-- was locked is wrong: a line that was not there to be locked may be by then, in use.
CREATE OR REPLACE FUNCTION holdfast.lock_line(p_name text) RETURNS holdfast.line
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_line holdfast.line;
BEGIN
    SELECT * INTO v_line FROM holdfast.line WHERE name = p_name FOR NO KEY UPDATE;
    IF v_line.connection IS NOT NULL THEN
        PERFORM holdfast.unfold(ARRAY[p_name]);
        SELECT * INTO v_line FROM holdfast.line WHERE name = p_name;
    END IF;
    RETURN v_line;
END $$;

-- The same; if there is no line, insert it first.
CREATE OR REPLACE FUNCTION holdfast.make_line(p_name text, p_capacity bigint, p_claim boolean)
RETURNS holdfast.line
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_line holdfast.line;
BEGIN
    LOOP
        v_line := holdfast.lock_line(p_name);
        EXIT WHEN v_line.name IS NOT NULL;
        PERFORM holdfast.check_shape(p_name, 1, p_capacity);
        INSERT INTO holdfast.line (name, capacity, claim, used, holders, waiting, last, changes)
        SELECT p_name, p_capacity, p_claim, 0, 0, 0, floor, greatest(floor, holdfast.microseconds())
        FROM holdfast.head
        ON CONFLICT DO NOTHING;
        -- The INSERT may have waited for sweep_lines(), which raised floor meanwhile.
        UPDATE holdfast.line SET last = floor
        FROM holdfast.head WHERE name = p_name AND last < floor;
    END LOOP;
    RETURN v_line;
END $$;

-- The lowest slot that no holder has.
CREATE OR REPLACE FUNCTION holdfast.lowest_slot(p_name text) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT min(s) FROM (
                SELECT 0 AS s UNION ALL
                SELECT slot + 1 FROM holdfast.place WHERE name = p_name AND state = 'g') AS x
            WHERE s NOT IN (SELECT slot FROM holdfast.place
                            WHERE name = p_name AND state = 'g'));
END $$;

-- The slot of the next holder.  Only a semaphore has slots.
CREATE OR REPLACE FUNCTION holdfast.free_slot(p_name text, p_capacity bigint, p_holders bigint)
RETURNS integer
LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN p_capacity IN (1, 4294967295) THEN -1
                WHEN p_holders = 0 THEN 0 ELSE holdfast.lowest_slot(p_name) END
$$;

CREATE OR REPLACE FUNCTION holdfast.notify_watchers(p_name text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_sid text;
BEGIN
    FOR v_sid IN DELETE FROM holdfast.watch WHERE name = p_name RETURNING sid LOOP
        PERFORM holdfast.notify(v_sid, 'c ' || p_name);
    END LOOP;
END $$;

-- For store watches: this line has changed.
CREATE OR REPLACE FUNCTION holdfast.note_change(p_name text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_sid text;
BEGIN
    INSERT INTO holdfast.changed_line AS c VALUES (p_name, txid_current())
    ON CONFLICT (name) DO UPDATE SET xid = excluded.xid WHERE c.xid <> excluded.xid;
    FOR v_sid IN SELECT sid FROM holdfast.store_watcher WHERE waits LOOP
        PERFORM holdfast.notify(v_sid, 's');
    END LOOP;
END $$;

-- Set what is written to the change log from now on.  Every session's row has a copy, since a
-- function that changes a line reads that row anyway, unless the line is biased.  The UPDATE waits
-- for calls of these sessions that are in progress, unfold() for those that use a biased line, and
-- no line becomes biased while there is a log.  So once this is committed no change goes unrecorded.
-- The caller has locked holdfast.change_log, and no session before it.
CREATE OR REPLACE FUNCTION holdfast.set_log(p_log integer) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE holdfast.change_log SET log = p_log WHERE log <> p_log;
    IF FOUND THEN
        UPDATE holdfast.session SET log = p_log WHERE log <> p_log;
        PERFORM holdfast.unfold(ARRAY (SELECT name FROM holdfast.line WHERE connection IS NOT NULL));
    END IF;
END $$;

-- For the history: append an entry about a place, in its present state.
CREATE OR REPLACE FUNCTION holdfast.note_history(p_what text, p_place holdfast.place,
                                                 p_capacity bigint, p_why text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO holdfast.history_entry
        (what, time, name, seq, weight, capacity, claim, slot, note, reason)
    VALUES (p_what, holdfast.microseconds(), p_place.name, p_place.seq, p_place.weight,
            p_capacity, p_place.claim, p_place.slot, p_place.note, p_why);
END $$;

-- A line has changed.  The caller has locked its row; p_line is the row's new content.  Grant
-- waiters in order while they fit, notify each of them except p_sid and p_id, which learns it from
-- the answer, and notify the watchers of the line.
--
-- p_left is the seq of a holder that released its place, or 0 after any other change.  After a
-- release the message "g" grants the place by itself: if a crash undoes the grant, nobody else can
-- get ahead of the place.  After any other change, and for a place with a slot, the message "n"
-- only makes the owner call read(), which makes sure that the grant is on disk.
--
-- Every waiter came after every holder, so the search starts behind p_left.  Before it the index
-- still has entries of deleted places, until the next vacuum.
CREATE OR REPLACE FUNCTION holdfast.grant_waiters(p_line holdfast.line, p_left bigint, p_sid text,
                                                  p_id bigint, p_log integer)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_next holdfast.place;
BEGIN
    WHILE p_line.waiting > 0 AND p_line.used < p_line.capacity LOOP
        UPDATE holdfast.place
        SET state = 'g', since = holdfast.microseconds(), messages = messages + 1,
            slot = holdfast.free_slot(p_line.name, p_line.capacity, p_line.holders)
        WHERE (sid, id) = (SELECT sid, id FROM holdfast.place
                           WHERE name = p_line.name AND state = 'w' AND seq > p_left
                           ORDER BY seq LIMIT 1) AND
              holdfast.fits(0, p_line.used, weight, p_line.capacity)
        RETURNING * INTO v_next;
        IF NOT FOUND THEN
            EXIT WHEN p_left = 0 OR p_line.holders > 0;
            p_left := 0; -- somebody has edited the table: search the whole line
            CONTINUE;
        END IF;
        p_line.used := p_line.used + v_next.weight;
        p_line.holders := p_line.holders + 1;
        p_line.waiting := p_line.waiting - 1;
        IF p_log >= 2 THEN
            PERFORM holdfast.note_history('g', v_next, p_line.capacity);
        END IF;
        IF v_next.sid <> p_sid OR v_next.id <> p_id THEN
            PERFORM holdfast.notify(v_next.sid, CASE WHEN p_left > 0 AND v_next.slot < 0
                                  THEN format('g %s -1 %s %s', v_next.id, v_next.since,
                                              v_next.grant_secret)
                                  ELSE 'n ' || v_next.id END);
        END IF;
    END LOOP;
    UPDATE holdfast.line
    SET used = p_line.used, holders = p_line.holders, waiting = p_line.waiting,
        changes = changes + 1, watched = false
    WHERE name = p_line.name;
    IF p_line.watched THEN
        PERFORM holdfast.notify_watchers(p_line.name);
    END IF;
    IF p_log % 2 = 1 THEN
        PERFORM holdfast.note_change(p_line.name);
    END IF;
END $$;

-- Remove a place from its line; the caller has locked the line's row, p_line.  p_what is the
-- history entry for a place that was granted: r if its owner released it.
CREATE OR REPLACE FUNCTION holdfast.remove_place(p_line holdfast.line, p_place holdfast.place,
                                                 p_log integer, p_what text, p_why text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_log >= 2 THEN
        PERFORM holdfast.note_history(CASE WHEN p_place.state = 'g' THEN p_what ELSE 'l' END,
                                   p_place, p_line.capacity, p_why);
    END IF;
    IF p_place.state = 'g' THEN
        p_line.used := p_line.used - p_place.weight;
        p_line.holders := p_line.holders - 1;
    ELSE
        p_line.waiting := p_line.waiting - 1;
    END IF;
    PERFORM holdfast.grant_waiters(p_line, CASE WHEN p_place.state = 'g' AND p_what = 'r'
                             THEN p_place.seq ELSE 0 END, '', 0, p_log);
END $$;

-- Remove everything that belongs to sessions whose rows are deleted already.  p_what: as for
-- remove_place().
CREATE OR REPLACE FUNCTION holdfast.remove_sessions(p_sids text[], p_log integer, p_what text)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_line holdfast.line;
    v_less bigint;
    v_left bigint;
    v_gone bigint;
    v_now  bigint := holdfast.microseconds();
BEGIN
    IF p_log % 2 = 1 THEN
        DELETE FROM holdfast.store_watcher WHERE sid = ANY (p_sids);
    END IF;
    PERFORM holdfast.unfold_sessions(p_sids);
    DELETE FROM holdfast.watch WHERE sid = ANY (p_sids);
    DELETE FROM holdfast.bias WHERE sid = ANY (p_sids);
    FOR v_line.name, v_less, v_left, v_gone IN
        WITH gone AS (DELETE FROM holdfast.place WHERE sid = ANY (p_sids)
                      RETURNING *),
             entries AS (INSERT INTO holdfast.history_entry
                             (what, time, name, seq, weight, capacity, claim, slot, note)
                      SELECT CASE WHEN g.state = 'g' THEN p_what ELSE 'l' END, v_now, g.name,
                             g.seq, g.weight, l.capacity, g.claim, g.slot, g.note
                      FROM gone g JOIN holdfast.line l ON l.name = g.name
                      WHERE p_log >= 2 AND g.state <> 'b' ORDER BY g.name, g.seq)
        SELECT name, coalesce(sum(weight) FILTER (WHERE state = 'g'), 0),
               count(*) FILTER (WHERE state = 'g'), count(*) FILTER (WHERE state = 'w')
        FROM gone WHERE state <> 'b' GROUP BY name ORDER BY name LOOP
        SELECT * INTO v_line FROM holdfast.line WHERE name = v_line.name;
        v_line.used := v_line.used - v_less;
        v_line.holders := v_line.holders - v_left;
        v_line.waiting := v_line.waiting - v_gone;
        PERFORM holdfast.grant_waiters(v_line, 0, '', 0, p_log);
    END LOOP;
END $$;

-- How a place stands, for its owner.
CREATE OR REPLACE FUNCTION holdfast.own_place(p_sid text, p_id bigint, p_name text) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN coalesce((
        SELECT concat_ws(' ', 0, t.state, t.seq, t.slot, t.since, t.weight,
                   CASE WHEN t.state = 'g' THEN 0 ELSE (
                       SELECT count(*) FROM holdfast.place a
                       WHERE a.name = t.name AND a.state <> 'b' AND a.seq < t.seq) END, t.asked)
        FROM holdfast.every_place t
        WHERE t.sid = p_sid AND t.id = p_id AND t.name = p_name), '0 -');
END $$;

-- ---- Sessions ---------------------------------------------------------------------------------

-- Open a session (p_fresh), or move one that exists to a new connection.  hello() has the same
-- arguments in every layout, so that each layout can refuse the clients of all others.
CREATE OR REPLACE FUNCTION holdfast.hello(p_version integer, p_sid text, p_connection bigint,
                                          p_ttl bigint, p_fresh boolean, p_note text,
                                          OUT code integer, OUT version integer, OUT pid integer,
                                          OUT number bigint, OUT era text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_old   bigint;
    v_log integer;
BEGIN
    PERFORM holdfast.check_isolation();
    SELECT head.version INTO version FROM holdfast.head;
    IF version IS DISTINCT FROM p_version THEN
        code := 7;
        RETURN;
    END IF;
    PERFORM holdfast.check_texts(p_note, '');
    PERFORM holdfast.ensure_durable(); -- see renew()
    pid := pg_backend_pid();
    code := 0;
    IF p_fresh THEN
        SELECT log INTO v_log FROM holdfast.change_log FOR SHARE; -- not while set_log() writes
        INSERT INTO holdfast.session (sid, connection, renewal, renewed, ttl, note, log)
        VALUES (p_sid, p_connection, nextval('holdfast.renewal'), holdfast.microseconds(), p_ttl,
                p_note, v_log)
        ON CONFLICT (sid) DO NOTHING;
    END IF;
    SELECT connection INTO v_old FROM holdfast.session WHERE sid = p_sid FOR UPDATE;
    IF v_old IS NULL THEN
        code := 2;
    ELSIF v_old > p_connection THEN
        code := 3;
    ELSE
        UPDATE holdfast.session
        SET connection = p_connection, renewal = nextval('holdfast.renewal'),
            renewed = holdfast.microseconds(), ttl = p_ttl
        WHERE sid = p_sid RETURNING renewal INTO number;
        PERFORM holdfast.unfold_sessions(ARRAY[p_sid]); -- this waits for calls on the old connection
        era := holdfast.era();
    END IF;
END $$;

-- Renew the caller's session.  The first row has its new number and the era.  More rows tell of the
-- sessions at the head of lines that the caller waits for: each ttl, and the lowest renewal number
-- of a session with that ttl.
CREATE OR REPLACE FUNCTION holdfast.renew(p_sid text, p_connection bigint)
RETURNS TABLE (code integer, number bigint, ttl bigint, era text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_code   integer := 0;
    v_number bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM holdfast.check_session(p_sid, p_connection);
    END IF;
    PERFORM holdfast.ensure_durable(); -- or a client that saw an older number expires us too early
    -- No FOR SHARE first: two such calls would wait for each other.
    UPDATE holdfast.session
    SET renewal = nextval('holdfast.renewal'), renewed = holdfast.microseconds()
    WHERE sid = p_sid AND connection = p_connection RETURNING renewal INTO v_number;
    IF NOT FOUND THEN
        v_code := holdfast.check_session(p_sid, p_connection);
    END IF;
    RETURN QUERY SELECT v_code, coalesce(v_number, 0), 0::bigint, holdfast.era();
    RETURN QUERY
        SELECT 0, min(s.renewal), s.ttl, NULL
        FROM (SELECT w.name FROM holdfast.place w WHERE w.sid = p_sid AND w.state = 'w'
              UNION SELECT o.name FROM holdfast.watch o WHERE o.sid = p_sid
              LIMIT 64) AS mine,
             LATERAL (SELECT h.sid FROM holdfast.place h
                      WHERE h.name = mine.name AND h.state <> 'b'
                      ORDER BY h.seq LIMIT 8) AS head,
             holdfast.session s
        WHERE s.sid = head.sid AND s.sid <> p_sid GROUP BY s.ttl;
    -- A store watch wants to know of every dead session.
    IF EXISTS (SELECT FROM holdfast.store_watcher o WHERE o.sid = p_sid) THEN
        RETURN QUERY SELECT 0, min(s.renewal), s.ttl, NULL FROM holdfast.session s
                     WHERE s.sid <> p_sid GROUP BY s.ttl;
    END IF;
END $$;

-- The caller's places about which messages were sent: granted, asked for or broken.
CREATE OR REPLACE FUNCTION holdfast.messages(p_sid text)
RETURNS TABLE (id bigint, state text, messages bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
    SELECT t.id, t.state::text, t.messages FROM holdfast.place t
    WHERE t.sid = p_sid AND t.messages > 0
$$;

-- Release all places of a session except p_ids, which its owner still knows of.
CREATE OR REPLACE FUNCTION holdfast.reclaim(p_sid text, p_connection bigint, p_ids bigint[])
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_code integer := holdfast.check_session(p_sid, p_connection);
    v_id   bigint;
    v_name text;
BEGIN
    IF v_code <> 0 THEN
        RETURN v_code;
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true); -- see leave()
    PERFORM holdfast.unfold_sessions(ARRAY[p_sid]);
    FOR v_id, v_name IN SELECT id, name FROM holdfast.place
                WHERE sid = p_sid AND state <> 'b' AND id <> ALL (p_ids) ORDER BY name LOOP
        PERFORM holdfast.leave_line(p_sid, p_connection, v_id, v_name);
    END LOOP;
    RETURN 0;
END $$;

-- For administrators: end a session with all its places if its renewal number is still p_renewal
-- (NULL: in any case).
CREATE OR REPLACE FUNCTION holdfast.expire(p_sid text, p_renewal bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_log integer;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM holdfast.ensure_durable();
    DELETE FROM holdfast.session WHERE sid = p_sid AND renewal = coalesce(p_renewal, renewal)
    RETURNING log INTO v_log;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM holdfast.remove_sessions(ARRAY[p_sid], v_log, 'x');
    RETURN true;
END $$;

-- End all sessions that have been silent for too long, except p_sid.  The caller drew each of
-- p_numbers p_ages milliseconds ago, by its own clock.  A session expires if one of these numbers
-- is not lower than its own and is older than its ttl, plus an allowance for clock drift.
--
-- Returns how many sessions expired: up to 500, with no more than 1000 places together unless one
-- session alone has more.  (A call that takes too long would be canceled and undone.)  If the
-- answer is not 0 the caller calls again.
--
-- A caller could invent an age, so the server's clock is a second check: a session that the server
-- saw renewed within its ttl stays.  If that clock was set back, `renewed` may be in the future;
-- then only the caller's numbers count.  So a wrong clock keeps a dead session for one more ttl at
-- most.
CREATE OR REPLACE FUNCTION holdfast.expire_silent(p_sid text, p_era text, p_numbers bigint[],
                                                  p_ages bigint[])
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_newest bigint := (SELECT max(n) FROM unnest(p_numbers) AS n);
    v_now    bigint := holdfast.microseconds();
    v_sids   text[];
    v_log  integer;
BEGIN
    PERFORM holdfast.check_isolation();
    IF p_era <> holdfast.era() THEN
        RETURN 0;
    END IF;
    -- A session that is locked is at work, or another call is ending it.
    WITH dead AS (
        SELECT s.sid, s.renewal FROM holdfast.session s
        WHERE s.renewal <= v_newest AND s.sid <> p_sid AND
            v_now - s.renewed NOT BETWEEN 0 AND s.ttl * 1000 - 1 AND EXISTS (
            SELECT FROM unnest(p_numbers, p_ages) AS drawn (number, age)
            WHERE drawn.number >= s.renewal AND drawn.age * 500 >= s.ttl * 501)
        ORDER BY s.renewal LIMIT 500 FOR UPDATE OF s SKIP LOCKED),
    counted AS (
        SELECT sid, row_number() OVER (ORDER BY renewal, sid) AS nth,
               sum((SELECT count(*) FROM holdfast.place t WHERE t.sid = dead.sid) +
                   (SELECT count(*) FROM holdfast.bias b WHERE b.sid = dead.sid))
                   OVER (ORDER BY renewal, sid) AS places
        FROM dead)
    SELECT array_agg(sid) INTO v_sids FROM counted WHERE nth = 1 OR places <= 1000;
    IF v_sids IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM holdfast.ensure_durable();
    WITH gone AS (DELETE FROM holdfast.session WHERE sid = ANY (v_sids) RETURNING log)
    SELECT bit_or(log) INTO v_log FROM gone;
    PERFORM holdfast.remove_sessions(v_sids, v_log, 'x');
    RETURN cardinality(v_sids);
END $$;

-- Look at the next p_most lines, in the order of names, and delete those that are empty and have
-- been for a minute (or at all, if there are no sessions).  head.floor keeps their highest token.
-- A line that is watched stays; that is looked up once the line is locked, as watch() locks it, too.
-- Returns how many were deleted.
CREATE OR REPLACE FUNCTION holdfast.sweep_lines(p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_from  text;
    v_swept text;
    v_names text[];
    v_gone  text[];
    v_until bigint;
    v_floor bigint;
    v_count integer;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT swept INTO v_from FROM holdfast.head FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN -- another client is sweeping
        RETURN 0;
    END IF;
    v_names := ARRAY (SELECT name FROM (
        (SELECT name, 1 AS round FROM holdfast.line WHERE name > v_from
         ORDER BY name LIMIT p_most)
        UNION ALL
        (SELECT name, 2 FROM holdfast.line WHERE name <= v_from ORDER BY name LIMIT p_most)
        ) AS next ORDER BY round, name LIMIT p_most);
    v_swept := coalesce(v_names[cardinality(v_names)], '');
    v_until := CASE WHEN EXISTS (SELECT FROM holdfast.session)
                    THEN holdfast.microseconds() - 60000000 ELSE 9223372036854775807 END;
    v_names := ARRAY (SELECT name FROM holdfast.line
                      WHERE name = ANY (v_names) AND holders = 0 AND waiting = 0 AND last < v_until
                      FOR UPDATE SKIP LOCKED);
    WITH gone AS (DELETE FROM holdfast.line
                  WHERE name = ANY (v_names) AND NOT EXISTS
                      (SELECT FROM holdfast.watch WHERE watch.name = line.name)
                  RETURNING name, last)
    SELECT max(last), count(*), array_agg(name) INTO v_floor, v_count, v_gone FROM gone;
    DELETE FROM holdfast.bias WHERE (name, sid) IN -- a row that is locked is being deleted
        (SELECT name, sid FROM holdfast.bias WHERE name = ANY (v_gone) FOR UPDATE SKIP LOCKED);
    UPDATE holdfast.head SET swept = v_swept, floor = greatest(floor, v_floor);
    RETURN v_count;
END $$;

-- The same; it also trims the change log, and turns it off if no store watch is left.
CREATE OR REPLACE FUNCTION holdfast.sweep(p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_log integer;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM set_config('synchronous_commit', 'off', true);
    IF (SELECT log FROM holdfast.change_log) > 0 THEN
        SELECT log INTO v_log FROM holdfast.change_log FOR UPDATE SKIP LOCKED;
        IF v_log % 2 = 1 AND NOT EXISTS (SELECT FROM holdfast.store_watcher) THEN
            PERFORM holdfast.set_log(v_log - 1);
            DELETE FROM holdfast.changed_line;
        END IF;
        IF v_log >= 2 THEN
            PERFORM holdfast.number_history();
        END IF;
    END IF;
    RETURN holdfast.sweep_lines(least(p_most, 10000));
END $$;

-- End a session.  p_connection is NULL if the caller has a session key: then any connection will
-- do, the owner is notified in case it is alive, and the end of the session, by this call or an
-- earlier one, is on disk before the answer.  Callers do not check the version first, so a layout
-- in which the call means something else has to give it another name.
CREATE OR REPLACE FUNCTION holdfast.bye(p_sid text, p_connection bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_connection bigint;
    v_log      integer;
BEGIN
    PERFORM holdfast.check_isolation();
    IF p_connection IS NULL THEN
        PERFORM holdfast.ensure_durable();
    END IF;
    SELECT connection, log INTO v_connection, v_log FROM holdfast.session
    WHERE sid = p_sid FOR UPDATE;
    IF v_connection IS NULL OR v_connection <> coalesce(p_connection, v_connection) THEN
        IF p_connection IS NULL THEN -- this writes, so the commit waits for the disk
            PERFORM FROM holdfast.head FOR KEY SHARE;
        END IF;
        RETURN 2;
    END IF;
    DELETE FROM holdfast.session WHERE sid = p_sid;
    PERFORM holdfast.remove_sessions(ARRAY[p_sid], v_log,
                           CASE WHEN p_connection IS NULL THEN 'x' ELSE 'r' END);
    IF p_connection IS NULL THEN
        PERFORM holdfast.notify(p_sid, 'e');
    ELSE
        PERFORM holdfast.sweep_lines(100); -- and do not wait for the disk
    END IF;
    RETURN 0;
END $$;

-- ---- Places -------------------------------------------------------------------------------------

-- enter() and leave() try to use a biased line first, with one UPDATE.  The line's row says that the
-- session and its connection are valid: whatever ends them unfolds the line.
--
-- Without SET search_path these two are an eighth cheaper.  So everything in them is named with its
-- schema, operators and types included (test/postgres/functions.py shadows them all).
CREATE OR REPLACE FUNCTION holdfast.enter(p_sid text, p_connection bigint, p_id bigint,
                                          p_name text, p_weight bigint, p_capacity bigint,
                                          p_claim boolean, p_only_free boolean, p_limit bigint,
                                          p_note text, p_grant_secret text)
RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
DECLARE
    v_answer pg_catalog.text;
    v_now    bigint := pg_catalog.date_part('epoch', pg_catalog.clock_timestamp())
                       OPERATOR(pg_catalog.*) 1000000;
BEGIN
    IF pg_catalog.current_setting('transaction_isolation')
           OPERATOR(pg_catalog.=) 'read committed' AND
        pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.<>) 'off' AND
        pg_catalog.current_setting('client_min_messages') OPERATOR(pg_catalog.<>) 'error' AND
        pg_catalog.octet_length(p_note) OPERATOR(pg_catalog.<=) 8192 AND p_id IS NOT NULL AND
        p_weight OPERATOR(pg_catalog.=) p_capacity THEN
        UPDATE holdfast.line
        SET used = capacity, holders = 1, changes = changes OPERATOR(pg_catalog.+) 1,
            last = greatest(last OPERATOR(pg_catalog.+) 1, v_now),
            seq = greatest(last OPERATOR(pg_catalog.+) 1, v_now), since = v_now, id = p_id,
            note = p_note
        WHERE name OPERATOR(pg_catalog.=) p_name AND sid OPERATOR(pg_catalog.=) p_sid AND
            connection OPERATOR(pg_catalog.=) p_connection AND id IS NULL AND
            capacity OPERATOR(pg_catalog.=) p_capacity AND claim OPERATOR(pg_catalog.=) p_claim
        RETURNING pg_catalog.concat('0 g ', seq, ' -1 ', since, ' ', capacity, ' 0') INTO v_answer;
        IF FOUND THEN
            RETURN v_answer;
        END IF;
    END IF;
    RETURN holdfast.enter_line(p_sid, p_connection, p_id, p_name, p_weight, p_capacity, p_claim,
                               p_only_free, p_limit, p_note, p_grant_secret);
END $$;

CREATE OR REPLACE FUNCTION holdfast.leave(p_sid text, p_connection bigint, p_id bigint, p_name text)
RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$
BEGIN
    -- If a crash undoes this, the client releases the place again when it reconnects.
    IF pg_catalog.current_setting('transaction_isolation')
           OPERATOR(pg_catalog.=) 'read committed' AND
        pg_catalog.set_config('synchronous_commit', 'off', true) IS NOT NULL THEN
        UPDATE holdfast.line
        SET used = 0, holders = 0, changes = changes OPERATOR(pg_catalog.+) 1, id = NULL
        WHERE name OPERATOR(pg_catalog.=) p_name AND sid OPERATOR(pg_catalog.=) p_sid AND
            connection OPERATOR(pg_catalog.=) p_connection AND id OPERATOR(pg_catalog.=) p_id;
        IF FOUND THEN
            RETURN '0 0';
        END IF;
    END IF;
    RETURN holdfast.leave_line(p_sid, p_connection, p_id, p_name);
END $$;

-- enter() for a line that is not biased toward the caller.  If nobody is there, and the caller
-- excludes everybody, the line becomes biased.  A place of the session that was broken prevents
-- that: enter() must find it if the call is repeated.
CREATE OR REPLACE FUNCTION holdfast.enter_line(p_sid text, p_connection bigint, p_id bigint,
                                               p_name text, p_weight bigint, p_capacity bigint,
                                               p_claim boolean, p_only_free boolean,
                                               p_limit bigint, p_note text, p_grant_secret text)
RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_log   integer;
    v_line  holdfast.line; -- before this call
    v_waits boolean;
    v_bias  boolean := false;
    v_seq   bigint;
    v_slot  integer := -1;
    v_since bigint := holdfast.microseconds();
    v_code  integer;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' OR
        current_setting('synchronous_commit') = 'off' OR
        current_setting('client_min_messages') = 'error' OR p_weight < 1 OR
        p_weight > p_capacity OR p_capacity > 4294967295 OR
        octet_length(p_note) > 8192 OR octet_length(p_grant_secret) > 64 THEN
        PERFORM holdfast.check_isolation();
        PERFORM holdfast.check_shape(p_name, p_weight, p_capacity);
        PERFORM holdfast.check_texts(p_note, p_grant_secret);
        PERFORM holdfast.ensure_durable(); -- a crash must not undo a grant
    END IF;
    SELECT log INTO v_log FROM holdfast.session
    WHERE sid = p_sid AND connection = p_connection FOR SHARE SKIP LOCKED;
    IF v_log IS NULL THEN
        v_code := holdfast.await_session(p_sid, p_connection);
        IF v_code <> 0 THEN
            RETURN v_code;
        END IF;
        SELECT log INTO v_log FROM holdfast.session WHERE sid = p_sid;
    END IF;

    SELECT * INTO v_line FROM holdfast.line WHERE name = p_name FOR NO KEY UPDATE;
    IF NOT FOUND OR v_line.id IS NOT NULL THEN
        v_line := holdfast.make_line(p_name, p_capacity, p_claim);
    END IF;
    v_waits := NOT holdfast.fits(v_line.waiting, v_line.used, p_weight, p_capacity);
    v_code := CASE WHEN v_line.holders + v_line.waiting > 0 AND
                        (v_line.capacity <> p_capacity OR v_line.claim <> p_claim) THEN 4
                   WHEN v_waits AND p_only_free THEN 0
                   WHEN v_waits AND p_limit > 0 AND v_line.waiting >= p_limit THEN 5 END;
    IF v_code IS NOT NULL THEN
        IF EXISTS (SELECT FROM holdfast.place WHERE sid = p_sid AND id = p_id) THEN
            RETURN holdfast.own_place(p_sid, p_id, p_name); -- a repeat: the first answer was lost
        END IF;
        RETURN concat_ws(' ', v_code, 'r', -- with the seq of a place that is in the way
                         (SELECT max(seq) FROM holdfast.place WHERE name = p_name AND state <> 'b'));
    END IF;

    v_seq := greatest(v_line.last + 1, v_since);
    IF NOT v_waits THEN
        v_slot := holdfast.free_slot(p_name, p_capacity, v_line.holders);
    END IF;
    IF v_line.holders + v_line.waiting = 0 AND p_weight = p_capacity AND v_slot < 0 AND
        v_log = 0 AND NOT v_line.watched THEN
        v_bias := p_id IS NOT NULL AND p_note IS NOT NULL AND -- else the INSERT below refuses it
                  NOT EXISTS (SELECT FROM holdfast.place
                              WHERE sid = p_sid AND messages > 0 AND name = p_name);
    END IF;
    IF v_bias THEN
        v_bias := NOT EXISTS (SELECT FROM holdfast.bias WHERE sid = p_sid AND name <> p_name AND
                                  (hashtext(name) & 1023) = (hashtext(p_name) & 1023));
    END IF;
    IF v_bias THEN
        INSERT INTO holdfast.bias VALUES (p_name, p_sid) ON CONFLICT DO NOTHING;
    ELSE
        INSERT INTO holdfast.place (sid, id, name, seq, weight, claim, grant_secret, state, slot,
                                    since, messages, note)
        VALUES (p_sid, p_id, p_name, v_seq, p_weight, p_claim, p_grant_secret,
                CASE WHEN v_waits THEN 'w'::"char" ELSE 'g'::"char" END, v_slot, v_since, 0, p_note)
        ON CONFLICT (sid, id) DO NOTHING;
        IF NOT FOUND THEN -- a repeat: the first answer was lost
            RETURN holdfast.own_place(p_sid, p_id, p_name);
        END IF;
    END IF;
    UPDATE holdfast.line
    SET capacity = p_capacity, claim = p_claim, changes = changes + 1, last = v_seq,
        used = CASE WHEN v_waits THEN used ELSE used + p_weight END,
        holders = CASE WHEN v_waits THEN holders ELSE holders + 1 END,
        waiting = CASE WHEN v_waits THEN waiting + 1 ELSE waiting END, watched = false,
        sid = p_sid, connection = CASE WHEN v_bias THEN p_connection END,
        id = CASE WHEN v_bias THEN p_id END, seq = v_seq, since = v_since,
        note = CASE WHEN v_bias THEN p_note END
    WHERE name = p_name;
    IF v_line.watched THEN
        PERFORM holdfast.notify_watchers(p_name);
    END IF;
    IF v_log >= 2 THEN
        PERFORM holdfast.note_history(CASE WHEN v_waits THEN 'e' ELSE 'g' END, t, p_capacity)
        FROM holdfast.place t WHERE sid = p_sid AND id = p_id;
    END IF;
    IF v_log % 2 = 1 THEN
        PERFORM holdfast.note_change(p_name);
    END IF;
    RETURN concat_ws(' ', 0, CASE WHEN v_waits THEN 'w' ELSE 'g' END, v_seq, v_slot, v_since, p_weight,
                     CASE WHEN v_waits THEN v_line.holders + v_line.waiting ELSE 0 END);
END $$;

-- leave() for a place with a row of its own.  The second column: it was broken.
CREATE OR REPLACE FUNCTION holdfast.leave_line(p_sid text, p_connection bigint, p_id bigint,
                                               p_name text)
RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_code  integer;
    v_log   integer;
    v_line  holdfast.line;
    v_place holdfast.place;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM holdfast.check_isolation();
    END IF;
    SELECT log INTO v_log FROM holdfast.session
    WHERE sid = p_sid AND connection = p_connection FOR SHARE SKIP LOCKED;
    IF v_log IS NULL THEN
        v_code := holdfast.await_session(p_sid, p_connection);
        IF v_code <> 0 THEN
            RETURN v_code;
        END IF;
        SELECT log INTO v_log FROM holdfast.session WHERE sid = p_sid;
    END IF;
    SELECT * INTO v_line FROM holdfast.line WHERE name = p_name FOR NO KEY UPDATE;
    DELETE FROM holdfast.place
    WHERE sid = p_sid AND id = p_id AND name = p_name AND state <> 'b'
    RETURNING * INTO v_place;
    IF FOUND AND v_line.waiting = 0 AND NOT v_line.watched AND v_log = 0 THEN
        UPDATE holdfast.line -- nobody to notify, nothing to log
        SET used = used - v_place.weight, holders = holders - 1, changes = changes + 1
        WHERE name = p_name;
    ELSIF v_place.sid IS NOT NULL THEN
        PERFORM holdfast.remove_place(v_line, v_place, v_log, 'r');
    ELSIF EXISTS (SELECT FROM holdfast.place WHERE sid = p_sid AND id = p_id AND state = 'b') THEN
        RETURN '0 1';
    END IF;
    RETURN '0 0';
END $$;

CREATE OR REPLACE FUNCTION holdfast.read(p_sid text, p_connection bigint, p_id bigint, p_name text)
RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_code integer := holdfast.check_session(p_sid, p_connection); -- it locks a row, so this writes
BEGIN
    PERFORM holdfast.ensure_durable();
    RETURN CASE WHEN v_code <> 0 THEN v_code::text
                ELSE holdfast.own_place(p_sid, p_id, p_name) END;
END $$;

CREATE OR REPLACE FUNCTION holdfast.downgrade(p_sid text, p_connection bigint, p_id bigint,
                                              p_name text, p_weight bigint)
RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_code  integer := holdfast.check_session(p_sid, p_connection);
    v_place holdfast.place;
    v_line  holdfast.line;
    v_log   integer;
BEGIN
    PERFORM holdfast.ensure_durable();
    IF v_code <> 0 THEN
        RETURN v_code;
    END IF;
    SELECT log INTO v_log FROM holdfast.session WHERE sid = p_sid;
    v_line := holdfast.lock_line(p_name);
    SELECT * INTO v_place FROM holdfast.place
    WHERE sid = p_sid AND id = p_id AND name = p_name AND state <> 'b';
    IF v_place.weight > p_weight THEN
        PERFORM holdfast.check_shape(p_name, p_weight, v_place.weight);
        IF v_place.state = 'g' THEN
            v_line.used := v_line.used - v_place.weight + p_weight;
        END IF;
        v_place.weight := p_weight;
        UPDATE holdfast.place SET weight = p_weight WHERE sid = p_sid AND id = p_id;
        IF v_log >= 2 THEN
            PERFORM holdfast.note_history('d', v_place, v_line.capacity);
        END IF;
        PERFORM holdfast.grant_waiters(v_line, 0, p_sid, p_id, v_log);
    END IF;
    RETURN holdfast.own_place(p_sid, p_id, p_name);
END $$;

-- Ask for one message when the line changes.  `changed`: there will be none, because the place
-- p_seq has left already, or, if p_seq is 0, because the line has changed since p_stamp (0: not
-- known).
CREATE OR REPLACE FUNCTION holdfast.watch(p_sid text, p_connection bigint, p_name text,
                                          p_stamp bigint, p_seq bigint,
                                          OUT code integer, OUT changed boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_line holdfast.line;
BEGIN
    code := holdfast.check_session(p_sid, p_connection);
    changed := false;
    IF code <> 0 THEN
        RETURN;
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    changed := p_seq = 0 AND p_stamp <> 0 AND p_stamp <>
        coalesce((SELECT changes FROM holdfast.line WHERE name = p_name), 1);
    IF changed THEN
        RETURN;
    END IF;
    v_line := holdfast.make_line(p_name, 1, false);
    IF p_seq = 0 THEN -- stamp 1: there was no line, which is the same as an empty one
        changed := CASE WHEN p_stamp = 1 THEN v_line.holders + v_line.waiting > 0
                        ELSE p_stamp > 1 AND p_stamp <> v_line.changes END;
    ELSE
        changed := NOT EXISTS (SELECT FROM holdfast.place
                               WHERE name = p_name AND seq = p_seq AND state <> 'b');
    END IF;
    IF NOT changed THEN
        INSERT INTO holdfast.watch VALUES (p_name, p_sid) ON CONFLICT DO NOTHING;
        UPDATE holdfast.line SET watched = true WHERE name = p_name AND NOT watched;
    END IF;
END $$;

-- ---- The store watch and history ---------------------------------------------------------------

-- Which lines have changed since the answer with that stamp?  The first row says whether all may
-- have (unknown), and, if none has, whether the promised message cannot be relied on yet
-- (unsettled).  Then follows a row for each changed line.  p_end: the caller's store watch ends.
--
-- Transactions overlap, so changes are found by transaction and not by time: a line has changed if
-- the snapshot of the last answer could not see the transaction that changed it last.  A
-- transaction notifies only store watchers that it sees waiting.  One that began before ours was
-- visible may still be in progress, so the caller asks again until all such transactions have
-- ended.
CREATE OR REPLACE FUNCTION holdfast.watch_store(p_sid text, p_connection bigint, p_stamp bigint,
                                                p_end integer)
RETURNS TABLE (code integer, stamp bigint, unsettled boolean, unknown boolean, name text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_me    holdfast.store_watcher;
    v_new   boolean;
    v_log integer;
    v_names text[];
    v_now   txid_snapshot;
    v_early boolean := false;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    v_new := NOT EXISTS (SELECT FROM holdfast.store_watcher WHERE sid = p_sid AND stamp = p_stamp);
    IF v_new OR p_end = 1 THEN -- lock this before the session
        SELECT log INTO v_log FROM holdfast.change_log FOR UPDATE;
    END IF;
    code := holdfast.check_session(p_sid, p_connection);
    IF code <> 0 THEN
        RETURN QUERY SELECT code, 0::bigint, false, false, NULL::text;
        RETURN;
    END IF;
    IF v_new OR p_end = 1 THEN
        DELETE FROM holdfast.store_watcher WHERE sid = p_sid;
        IF p_end = 0 THEN
            PERFORM holdfast.set_log(v_log | 1);
            INSERT INTO holdfast.store_watcher
            VALUES (p_sid, holdfast.microseconds(), txid_current_snapshot(), false, NULL)
            RETURNING * INTO v_me;
        ELSIF v_log % 2 = 1 AND NOT EXISTS (SELECT FROM holdfast.store_watcher) THEN
            PERFORM holdfast.set_log(v_log - 1);
            DELETE FROM holdfast.changed_line;
        END IF;
        RETURN QUERY SELECT 0, v_me.stamp, false, true, NULL::text;
        RETURN;
    END IF;

    SELECT * INTO v_me FROM holdfast.store_watcher WHERE sid = p_sid FOR UPDATE;
    SELECT array_agg(c.name), txid_current_snapshot() INTO v_names, v_now
    FROM (SELECT name FROM holdfast.changed_line
          WHERE NOT txid_visible_in_snapshot(xid, v_me.seen) LIMIT 1001) AS c;
    IF v_names IS NOT NULL THEN
        UPDATE holdfast.store_watcher
        SET stamp = stamp + 1, seen = v_now, waits = false, settle = NULL
        WHERE sid = p_sid RETURNING * INTO v_me;
        PERFORM holdfast.forget_changes();
    ELSIF NOT v_me.waits THEN
        UPDATE holdfast.store_watcher SET waits = true WHERE sid = p_sid;
        v_early := true;
    ELSE
        IF v_me.settle IS NULL THEN
            v_me.settle := txid_current(); -- higher than any that did not see us waiting
            UPDATE holdfast.store_watcher SET settle = v_me.settle WHERE sid = p_sid;
        END IF;
        v_early := txid_snapshot_xmax(v_now) < v_me.settle OR EXISTS
            (SELECT FROM txid_snapshot_xip(v_now) AS x WHERE x < v_me.settle);
    END IF;
    RETURN QUERY SELECT 0, v_me.stamp, v_early, coalesce(cardinality(v_names), 0) > 1000,
                        NULL::text;
    IF cardinality(v_names) <= 1000 THEN
        RETURN QUERY SELECT 0, 0::bigint, false, false, n FROM unnest(v_names) AS n;
    END IF;
END $$;

-- Delete changes that all store watchers have seen.
CREATE OR REPLACE FUNCTION holdfast.forget_changes() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM holdfast.changed_line LIMIT 101) AS c) > 100 THEN
        DELETE FROM holdfast.changed_line WHERE name IN
            (SELECT name FROM holdfast.changed_line c WHERE NOT EXISTS
                 (SELECT FROM holdfast.store_watcher s
                  WHERE NOT txid_visible_in_snapshot(c.xid, s.seen))
             FOR UPDATE SKIP LOCKED);
    END IF;
END $$;

-- Number the history entries that were committed since the last call, and delete the oldest.  The
-- entries of one line are committed in their order.  The caller has locked holdfast.change_log.
CREATE OR REPLACE FUNCTION holdfast.number_history() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_number bigint;
    v_length bigint;
BEGIN
    SELECT number, history INTO v_number, v_length FROM holdfast.change_log;
    WITH fresh AS (SELECT id, v_number + row_number() OVER (ORDER BY id) AS n
                   FROM holdfast.history_entry WHERE number IS NULL),
         newest AS (SELECT coalesce(max(n), v_number) AS n FROM fresh),
         gone AS (DELETE FROM holdfast.history_entry p USING newest
                  WHERE p.number <= newest.n - v_length OR p.number IS NULL AND p.id IN
                        (SELECT id FROM fresh WHERE fresh.n <= newest.n - v_length)),
         numbered AS (UPDATE holdfast.history_entry p SET number = fresh.n FROM fresh, newest
                  WHERE p.id = fresh.id AND fresh.n > newest.n - v_length)
    UPDATE holdfast.change_log SET number = newest.n FROM newest WHERE number <> newest.n;
END $$;

-- Set how many history entries to keep; 0 keeps none and deletes all.  Numbers start from the
-- clock, so they are higher than all before.
CREATE OR REPLACE FUNCTION holdfast.keep_history(p_length integer) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_log integer;
BEGIN
    PERFORM holdfast.check_isolation();
    IF p_length NOT BETWEEN 0 AND 100000 THEN
        RAISE EXCEPTION 'a history cannot have % entries', p_length USING ERRCODE = '22023';
    END IF;
    SELECT log INTO v_log FROM holdfast.change_log FOR UPDATE;
    PERFORM holdfast.set_log(CASE WHEN p_length > 0 THEN v_log | 2 ELSE v_log & 1 END);
    UPDATE holdfast.change_log SET history = p_length,
        number = CASE WHEN history = 0 THEN greatest(number, holdfast.microseconds())
                      ELSE number END
    WHERE history <> p_length;
    IF p_length = 0 THEN
        DELETE FROM holdfast.history_entry;
    END IF;
END $$;

-- The history after that number, of one line or of all (NULL).  The first row has the code and the
-- number of the newest entry; code 6: no history is kept.
CREATE OR REPLACE FUNCTION holdfast.history(p_name text, p_after bigint)
RETURNS TABLE (code integer, number bigint, "time" bigint, what text, name text, seq bigint,
               weight bigint, capacity bigint, claim boolean, slot integer, note text, reason text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_length integer;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT history INTO v_length FROM holdfast.change_log FOR UPDATE;
    IF v_length = 0 THEN
        RETURN QUERY SELECT 6, 0::bigint, 0::bigint, NULL, NULL, 0::bigint, 0::bigint, 0::bigint,
                            false, 0, NULL, NULL;
        RETURN;
    END IF;
    PERFORM holdfast.number_history();
    RETURN QUERY SELECT 0, h.number, 0::bigint, NULL, NULL, 0::bigint, 0::bigint, 0::bigint,
                        false, 0, NULL, NULL FROM holdfast.change_log h;
    RETURN QUERY SELECT 0, p.number, p.time, p.what::text, p.name, p.seq, p.weight, p.capacity,
                        p.claim, p.slot, p.note, p.reason
                 FROM holdfast.history_entry p, holdfast.change_log h
                 WHERE p.number > CASE WHEN p_after > h.number THEN 0 ELSE p_after END AND
                       (p_name IS NULL OR p.name = p_name)
                 ORDER BY p.number;
END $$;

-- ---- Places of others -------------------------------------------------------------------------

-- p_by is for the history: a text that names the caller.
CREATE OR REPLACE FUNCTION holdfast.break_place(p_name text, p_seq bigint, p_by text DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_line   holdfast.line;
    v_place holdfast.place;
    v_log  integer;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM holdfast.check_texts(p_by, '');
    PERFORM holdfast.ensure_durable();
    SELECT log INTO v_log FROM holdfast.change_log FOR SHARE; -- the caller may have no session
    v_line := holdfast.lock_line(p_name);
    SELECT * INTO v_place FROM holdfast.place
    WHERE name = p_name AND seq = p_seq AND state <> 'b';
    IF NOT FOUND THEN
        RETURN 6;
    END IF;
    UPDATE holdfast.place SET state = 'b', messages = messages + 1
    WHERE sid = v_place.sid AND id = v_place.id;
    PERFORM holdfast.remove_place(v_line, v_place, v_log, 'b', p_by);
    PERFORM holdfast.notify(v_place.sid, 'b ' || v_place.id);
    RETURN 0;
END $$;

CREATE OR REPLACE FUNCTION holdfast.ask(p_name text, p_seq bigint, p_why text) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_line   holdfast.line;
    v_place holdfast.place;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM holdfast.check_texts(p_why, '');
    v_line := holdfast.lock_line(p_name);
    UPDATE holdfast.place SET asked = p_why, messages = messages + 1
    WHERE name = p_name AND seq = p_seq AND state <> 'b' RETURNING * INTO v_place;
    IF NOT FOUND THEN
        RETURN 6;
    END IF;
    IF (SELECT log FROM holdfast.change_log) >= 2 THEN
        PERFORM holdfast.note_history('a', v_place, v_line.capacity, p_why);
    END IF;
    PERFORM holdfast.notify(v_place.sid, 'a ' || v_place.id);
    RETURN 0;
END $$;

-- Does a holder have that token?  Locking the row writes, so a former primary whose synchronous
-- standby was promoted cannot answer yes.  A place may move out of the line's row between the two
-- statements, but never into it.
CREATE OR REPLACE FUNCTION holdfast.verify(p_name text, p_token bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
BEGIN
    PERFORM holdfast.ensure_durable();
    PERFORM FROM holdfast.line WHERE name = p_name AND seq = p_token AND id IS NOT NULL
    FOR KEY SHARE;
    IF NOT FOUND THEN
        PERFORM FROM holdfast.place WHERE name = p_name AND seq = p_token AND state = 'g'
        FOR KEY SHARE;
    END IF;
    RETURN FOUND;
END $$;

-- All places in one line, or in all lines (NULL).  The first row has only the stamp.  renewal and
-- ttl are those of the place's session.
CREATE OR REPLACE FUNCTION holdfast.list(p_name text)
RETURNS TABLE (stamp bigint, name text, seq bigint, weight bigint, capacity bigint,
               claim boolean, state text, slot integer, since bigint, note text, renewal bigint,
               ttl bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
    SELECT coalesce((SELECT changes FROM holdfast.line WHERE line.name = p_name), 1),
           NULL, 0, 0, 0, false, NULL, 0, 0, NULL, 0, 0
    UNION ALL
    SELECT l.changes, t.name, t.seq, t.weight, l.capacity, l.claim, t.state::text, t.slot,
           t.since, t.note, s.renewal, s.ttl
    FROM holdfast.every_place t JOIN holdfast.line l ON l.name = t.name
         LEFT JOIN holdfast.session s ON s.sid = t.sid
    WHERE p_name IS NULL OR t.name = p_name
$$;

-- The totals of each line, counted from its places.
CREATE OR REPLACE FUNCTION holdfast.counted()
RETURNS TABLE (name text, used bigint, holders bigint, waiting bigint, claim boolean, last bigint)
LANGUAGE sql STABLE AS $$
    SELECT t.name, coalesce(sum(t.weight) FILTER (WHERE t.state = 'g'), 0)::bigint,
           count(*) FILTER (WHERE t.state = 'g'), count(*) FILTER (WHERE t.state = 'w'),
           bool_or(t.claim), max(t.seq)
    FROM holdfast.every_place t GROUP BY t.name
$$;

-- The lines whose totals differ from their places, with the right totals.
CREATE OR REPLACE FUNCTION holdfast.miscounted()
RETURNS TABLE (name text, used bigint, holders bigint, waiting bigint, claim boolean, last bigint)
LANGUAGE sql STABLE AS $$
    SELECT coalesce(l.name, c.name), coalesce(c.used, 0), coalesce(c.holders, 0),
           coalesce(c.waiting, 0), coalesce(c.claim, false), coalesce(c.last, 0)
    FROM holdfast.line l FULL JOIN holdfast.counted() c ON c.name = l.name
    WHERE (l.used, l.holders, l.waiting) IS DISTINCT FROM
          (coalesce(c.used, 0), coalesce(c.holders, 0), coalesce(c.waiting, 0))
$$;

-- For administrators: correct the totals of lines that were changed by hand, and grant what is free
-- then.  A line without a row gets the capacity that is in use, so other kinds of lock are refused
-- until it is empty.  Returns how many lines were wrong.
CREATE OR REPLACE FUNCTION holdfast.recount() RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_log integer;
    v_wrong record;
    v_line  holdfast.line;
    v_count bigint := 0;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM holdfast.ensure_durable();
    SELECT log INTO v_log FROM holdfast.change_log FOR SHARE;
    FOR v_wrong IN SELECT * FROM holdfast.miscounted() ORDER BY name LOOP
        PERFORM holdfast.make_line(v_wrong.name, greatest(v_wrong.used, 1), v_wrong.claim);
        UPDATE holdfast.line l SET used = m.used, holders = m.holders, waiting = m.waiting,
            last = greatest(l.last, m.last)
        FROM holdfast.miscounted() m WHERE l.name = v_wrong.name AND m.name = l.name
        RETURNING l.* INTO v_line;
        IF FOUND THEN -- else another call has corrected it
            PERFORM holdfast.grant_waiters(v_line, 0, '', 0, v_log);
            v_count := v_count + 1;
        END IF;
    END LOOP;
    RETURN v_count;
END $$;

-- For doctor: totals of all lines and of the one with that name, the highest token, and how many
-- lines have wrong totals.
CREATE OR REPLACE FUNCTION holdfast.overview(p_name text, OUT sessions bigint, OUT holders bigint,
                                             OUT waiters bigint, OUT empty bigint,
                                             OUT name_holders bigint, OUT name_waiters bigint,
                                             OUT token bigint, OUT wrong bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
    SELECT (SELECT count(*) FROM holdfast.session),
           coalesce(sum(c.holders), 0)::bigint, coalesce(sum(c.waiting), 0)::bigint,
           (SELECT count(*) FROM holdfast.line l WHERE NOT EXISTS
               (SELECT FROM holdfast.every_place t WHERE t.name = l.name)),
           coalesce(sum(c.holders) FILTER (WHERE c.name = p_name), 0)::bigint,
           coalesce(sum(c.waiting) FILTER (WHERE c.name = p_name), 0)::bigint,
           greatest((SELECT max(last) FROM holdfast.line), (SELECT floor FROM holdfast.head)),
           (SELECT count(*) FROM holdfast.miscounted())
    FROM holdfast.counted() c
$$;

-- ---- For the data that a lock protects ----------------------------------------------------------

-- Call it first in a transaction that changes what the lock protects.  It fails if a later holder
-- has called it before, and keeps later holders out until the transaction ends.  Holders that share
-- a lock, as readers do, may call it in any order while they hold it.
CREATE OR REPLACE FUNCTION holdfast.fence(p_name text, p_token bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_token bigint;
BEGIN
    PERFORM holdfast.check_shape(p_name, 1, 1);
    INSERT INTO holdfast.fence AS f VALUES (p_name, p_token)
    ON CONFLICT (name) DO UPDATE SET token = greatest(f.token, p_token);
    SELECT token INTO v_token FROM holdfast.fence WHERE name = p_name;
    IF v_token > p_token AND NOT EXISTS (SELECT FROM holdfast.every_place WHERE name = p_name AND
                                         seq = p_token AND state = 'g') THEN
        RAISE EXCEPTION 'token % of the lock "%" is stale: token % has been here since',
            p_token, p_name, v_token USING ERRCODE = 'HF002',
            HINT = 'Roll back: another holder has the lock by now.';
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA holdfast FROM PUBLIC;
