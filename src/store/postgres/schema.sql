-- schema.sql - lines in a PostgreSQL database, and the functions that change them.
--
-- A session has a renewal number, drawn anew with every renewal; no time of day decides
-- anything.  Whoever has seen the same number for longer than the session's ttl, by a clock
-- of his own, may bury it.  A line is a row that counts what is held and who waits; it is
-- locked before anything in it is looked at, so tickets are numbered in the order of their
-- commits.  A ticket's seq is its token too.
--
-- Functions lock our session first, then lines in the order of their names.  They answer a
-- code first: 0 done, 2 there is no such session, 3 it has a newer connection, 4 those there
-- are of another kind, 5 too many wait, 6 there is no such place.
--
-- May be run again: it changes what is there to this version.
SELECT pg_catalog.pg_advisory_xact_lock(4846281);

CREATE SCHEMA IF NOT EXISTS holdfast;

CREATE TABLE IF NOT EXISTS holdfast.head (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL,
    floor   bigint  NOT NULL -- highest token of all lines that were forgotten
);
INSERT INTO holdfast.head (version, floor) VALUES (1, 0) ON CONFLICT DO NOTHING;

CREATE SEQUENCE IF NOT EXISTS holdfast.renewal;

CREATE TABLE IF NOT EXISTS holdfast.session (
    sid        text   PRIMARY KEY,
    connection bigint NOT NULL,
    renewal    bigint NOT NULL,
    ttl        bigint NOT NULL, -- milliseconds
    note       text   NOT NULL DEFAULT ''
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX IF NOT EXISTS session_renewal ON holdfast.session (renewal);

CREATE TABLE IF NOT EXISTS holdfast.line (
    name     text    PRIMARY KEY,
    capacity bigint  NOT NULL,
    claim    boolean NOT NULL,
    used     bigint  NOT NULL, -- weight of all that is granted
    holders  bigint  NOT NULL,
    waiting  bigint  NOT NULL,
    last     bigint  NOT NULL, -- token given out
    changes  bigint  NOT NULL,
    watched  boolean NOT NULL DEFAULT false -- somebody is in holdfast.watch
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

CREATE TABLE IF NOT EXISTS holdfast.ticket (
    sid      text    NOT NULL,
    id       bigint  NOT NULL,
    name     text    NOT NULL,
    seq      bigint  NOT NULL,
    weight   bigint  NOT NULL,
    claim    boolean NOT NULL,
    state    "char"  NOT NULL, -- g granted, w waiting, b taken away by somebody
    slot     integer NOT NULL,
    since    bigint  NOT NULL, -- microseconds since 1970, for people
    news     bigint  NOT NULL, -- messages sent about it
    asked    text,
    note     text    NOT NULL,
    PRIMARY KEY (sid, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX IF NOT EXISTS ticket_line ON holdfast.ticket (name, seq) WHERE state <> 'b';
CREATE INDEX IF NOT EXISTS ticket_waiting ON holdfast.ticket (name, seq) WHERE state = 'w';
CREATE UNIQUE INDEX IF NOT EXISTS ticket_claim ON holdfast.ticket (name)
    WHERE claim AND state <> 'b';

CREATE TABLE IF NOT EXISTS holdfast.watch (
    name text NOT NULL,
    sid  text NOT NULL,
    PRIMARY KEY (name, sid)
);

-- The highest token that holdfast.fence() has seen of each lock.
CREATE TABLE IF NOT EXISTS holdfast.fence (
    name  text   PRIMARY KEY,
    token bigint NOT NULL
);

DO $$ BEGIN
    CREATE TYPE holdfast.answer AS (
        code integer, state text, stamp bigint, seq bigint, slot integer, since bigint,
        weight bigint, ahead bigint, nearest bigint, asked text
    );
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;

-- ---- For the functions below ------------------------------------------------------------------
--
-- Those that a client calls are flat where nobody else is in line: to call another function
-- costs as much as a statement.

CREATE OR REPLACE FUNCTION holdfast.microseconds() RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN extract(epoch FROM clock_timestamp()) * 1000000;
END $$;

-- Who has waited for a row must see all that was committed meanwhile.
CREATE OR REPLACE FUNCTION holdfast.check_isolation() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'holdfast needs transactions that are read committed'
            USING ERRCODE = 'HF001';
    END IF;
END $$;

-- What is wrong with a session; 0 if nothing is.  It cannot be buried, nor get a newer
-- connection, before we are done.
CREATE OR REPLACE FUNCTION holdfast.refusal(p_sid text, p_connection bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_connection bigint;
BEGIN
    PERFORM holdfast.check_isolation();
    SELECT connection INTO v_connection FROM holdfast.session WHERE sid = p_sid FOR SHARE;
    RETURN CASE WHEN v_connection IS NULL THEN 2
                WHEN v_connection <> p_connection THEN 3 ELSE 0 END;
END $$;

-- Lock the line's row; make it first if there is none.
CREATE OR REPLACE FUNCTION holdfast.make_line(p_name text, p_capacity bigint, p_claim boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    LOOP
        PERFORM FROM holdfast.line WHERE name = p_name FOR UPDATE;
        EXIT WHEN FOUND;
        -- Somebody may have begun to watch it while it was being forgotten.
        INSERT INTO holdfast.line (name, capacity, claim, used, holders, waiting, last, changes,
                                   watched)
        SELECT p_name, p_capacity, p_claim, 0, 0, 0, floor,
               greatest(floor, holdfast.microseconds()),
               EXISTS (SELECT FROM holdfast.watch WHERE name = p_name)
        FROM holdfast.head
        ON CONFLICT DO NOTHING;
    END LOOP;
END $$;

-- The lowest that none of the holders has.
CREATE OR REPLACE FUNCTION holdfast.free_slot(p_name text, p_capacity bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_capacity IN (1, 4294967295) THEN
        RETURN -1;
    END IF;
    RETURN (SELECT min(s) FROM (
                SELECT 0 AS s UNION ALL
                SELECT slot + 1 FROM holdfast.ticket WHERE name = p_name AND state = 'g') AS x
            WHERE s NOT IN (SELECT slot FROM holdfast.ticket
                            WHERE name = p_name AND state = 'g'));
END $$;

CREATE OR REPLACE FUNCTION holdfast.tell_watchers(p_name text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_sid text;
BEGIN
    -- Who is locked is just being buried.
    FOR v_sid IN DELETE FROM holdfast.watch WHERE name = p_name AND sid IN
                     (SELECT sid FROM holdfast.watch WHERE name = p_name
                      FOR UPDATE SKIP LOCKED)
                 RETURNING sid LOOP
        PERFORM pg_notify('hf_' || v_sid, 'c ' || p_name);
    END LOOP;
END $$;

-- A line, which is locked, has changed: there is p_less weight held, p_left holders and
-- p_gone waiters less.  Grant those who wait, in order, while they fit; tell them, but for
-- p_sid and p_id, who hears it by an answer; and tell those who watch.
CREATE OR REPLACE FUNCTION holdfast.advance(p_name text, p_less bigint, p_left bigint,
                                            p_gone bigint, p_sid text, p_id bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_line holdfast.line;
    v_next holdfast.ticket;
BEGIN
    SELECT * INTO v_line FROM holdfast.line WHERE name = p_name;
    v_line.used := v_line.used - p_less;
    v_line.holders := v_line.holders - p_left;
    v_line.waiting := v_line.waiting - p_gone;
    WHILE v_line.waiting > 0 AND v_line.used < v_line.capacity LOOP
        SELECT * INTO v_next FROM holdfast.ticket
        WHERE name = p_name AND state = 'w' ORDER BY seq LIMIT 1;
        EXIT WHEN NOT FOUND OR v_line.used + v_next.weight > v_line.capacity;
        v_next.slot := holdfast.free_slot(p_name, v_line.capacity);
        v_next.since := holdfast.microseconds();
        UPDATE holdfast.ticket
        SET state = 'g', slot = v_next.slot, since = v_next.since, news = news + 1
        WHERE sid = v_next.sid AND id = v_next.id;
        v_line.used := v_line.used + v_next.weight;
        v_line.holders := v_line.holders + 1;
        v_line.waiting := v_line.waiting - 1;
        IF v_next.sid <> p_sid OR v_next.id <> p_id THEN
            PERFORM pg_notify('hf_' || v_next.sid,
                              format('g %s %s %s', v_next.id, v_next.slot, v_next.since));
        END IF;
    END LOOP;
    UPDATE holdfast.line
    SET used = v_line.used, holders = v_line.holders, waiting = v_line.waiting,
        changes = changes + 1, watched = false
    WHERE name = p_name;
    IF v_line.watched THEN
        PERFORM holdfast.tell_watchers(p_name);
    END IF;
END $$;

-- Take a ticket out of its line, which is locked.
CREATE OR REPLACE FUNCTION holdfast.part(p_name text, p_state "char", p_weight bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_state = 'g' THEN
        PERFORM holdfast.advance(p_name, p_weight, 1, 0, '', 0);
    ELSE
        PERFORM holdfast.advance(p_name, 0, 0, 1, '', 0);
    END IF;
END $$;

-- A ticket as its owner sees it.
CREATE OR REPLACE FUNCTION holdfast.show(p_sid text, p_id bigint) RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_ret holdfast.answer;
BEGIN
    SELECT 0, t.state::text, l.changes, t.seq, t.slot, t.since, t.weight, 0, 0, t.asked
    INTO v_ret
    FROM holdfast.ticket t JOIN holdfast.line l ON l.name = t.name
    WHERE t.sid = p_sid AND t.id = p_id AND t.state <> 'b';
    IF NOT FOUND THEN
        RETURN (0, '-', 0, 0, -1, 0, 0, 0, 0, NULL)::holdfast.answer;
    END IF;
    SELECT count(*), coalesce(max(a.seq), 0) INTO v_ret.ahead, v_ret.nearest
    FROM holdfast.ticket t JOIN holdfast.ticket a ON a.name = t.name
    WHERE t.sid = p_sid AND t.id = p_id AND a.state <> 'b' AND a.seq < t.seq;
    RETURN v_ret;
END $$;

-- ---- Sessions ---------------------------------------------------------------------------------

-- Open a session (p_fresh), or prove that it is there and take it over to a new connection.
CREATE OR REPLACE FUNCTION holdfast.hello(p_sid text, p_connection bigint, p_ttl bigint,
                                          p_fresh boolean, p_note text,
                                          OUT code integer, OUT version integer, OUT pid integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_old bigint;
BEGIN
    PERFORM holdfast.check_isolation();
    IF current_setting('synchronous_commit') = 'off' THEN -- see renew()
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    SELECT head.version INTO version FROM holdfast.head;
    pid := pg_backend_pid();
    code := 0;
    IF p_fresh THEN
        INSERT INTO holdfast.session (sid, connection, renewal, ttl, note)
        VALUES (p_sid, p_connection, nextval('holdfast.renewal'), p_ttl, p_note)
        ON CONFLICT (sid) DO NOTHING;
    END IF;
    SELECT connection INTO v_old FROM holdfast.session WHERE sid = p_sid FOR UPDATE;
    IF v_old IS NULL THEN
        code := 2;
    ELSIF v_old > p_connection THEN
        code := 3;
    ELSE
        UPDATE holdfast.session
        SET connection = p_connection, renewal = nextval('holdfast.renewal'), ttl = p_ttl
        WHERE sid = p_sid;
    END IF;
END $$;

-- Our session lives.  Others that may be dead: those whose tickets are in our way, and those
-- that have been silent longest.
CREATE OR REPLACE FUNCTION holdfast.renew(p_sid text, p_connection bigint)
RETURNS TABLE (code integer, sid text, renewal bigint, ttl bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_code    integer := 0;
    v_renewal bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM holdfast.refusal(p_sid, p_connection);
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN -- whoever saw an older number would
        PERFORM set_config('synchronous_commit', 'on', true); -- bury us too early
    END IF;
    -- At once by UPDATE: two that had it FOR SHARE first would wait for each other.
    UPDATE holdfast.session SET renewal = nextval('holdfast.renewal')
    WHERE sid = p_sid AND connection = p_connection RETURNING renewal INTO v_renewal;
    IF NOT FOUND THEN
        v_code := holdfast.refusal(p_sid, p_connection);
    ELSIF v_renewal % 64 = 0 THEN -- somebody has to, now and then
        PERFORM holdfast.forget_lines(100);
    END IF;
    RETURN QUERY SELECT v_code, NULL::text, 0::bigint, 0::bigint;
    RETURN QUERY
        SELECT 0, s.sid, s.renewal, s.ttl FROM holdfast.session s WHERE s.sid IN (
            SELECT h.sid FROM holdfast.ticket h WHERE h.sid <> p_sid AND h.state <> 'b'
            AND (h.name IN (SELECT w.name FROM holdfast.ticket w
                            WHERE w.sid = p_sid AND w.state = 'w' LIMIT 64)
                 OR h.name IN (SELECT o.name FROM holdfast.watch o
                               WHERE o.sid = p_sid LIMIT 64)) LIMIT 64)
        UNION
        (SELECT 0, s.sid, s.renewal, s.ttl FROM holdfast.session s WHERE s.sid <> p_sid
         ORDER BY s.renewal LIMIT 8);
END $$;

-- Tickets of ours that were granted, asked for or taken away.
CREATE OR REPLACE FUNCTION holdfast.news(p_sid text)
RETURNS TABLE (id bigint, state text, slot integer, since bigint, news bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
    SELECT t.id, t.state::text, t.slot, t.since, t.news FROM holdfast.ticket t
    WHERE t.sid = p_sid AND t.news > 0
$$;

-- Give up what the owner of a session does not know of (any more).
CREATE OR REPLACE FUNCTION holdfast.mend(p_sid text, p_connection bigint, p_ids bigint[])
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_code integer := holdfast.refusal(p_sid, p_connection);
    v_id   bigint;
    v_name text;
BEGIN
    IF v_code <> 0 THEN
        RETURN v_code;
    END IF;
    FOR v_id, v_name IN SELECT id, name FROM holdfast.ticket
                WHERE sid = p_sid AND state <> 'b' AND id <> ALL (p_ids) ORDER BY name LOOP
        PERFORM holdfast.leave(p_sid, p_connection, v_id, v_name);
    END LOOP;
    RETURN 0;
END $$;

-- End a session and all it has, if it was not renewed since that renewal (NULL: anyway).
CREATE OR REPLACE FUNCTION holdfast.bury(p_sid text, p_renewal bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_name   text;
    v_ticket holdfast.ticket;
BEGIN
    PERFORM holdfast.check_isolation();
    DELETE FROM holdfast.session WHERE sid = p_sid AND renewal = coalesce(p_renewal, renewal);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- What is locked is just being told, and gone then.  To wait for that might be in vain.
    DELETE FROM holdfast.watch WHERE sid = p_sid AND name IN
        (SELECT name FROM holdfast.watch WHERE sid = p_sid FOR UPDATE SKIP LOCKED);
    FOR v_name IN SELECT DISTINCT name FROM holdfast.ticket WHERE sid = p_sid ORDER BY name LOOP
        PERFORM FROM holdfast.line WHERE name = v_name FOR UPDATE;
        FOR v_ticket IN DELETE FROM holdfast.ticket WHERE sid = p_sid AND name = v_name
                        RETURNING * LOOP
            IF v_ticket.state <> 'b' THEN
                PERFORM holdfast.part(v_name, v_ticket.state, v_ticket.weight);
            END IF;
        END LOOP;
    END LOOP;
    RETURN true;
END $$;

-- Forget up to p_most lines that nobody is in and nobody was for an hour (or at all, if there
-- are no sessions).  Tokens go on from the highest.
CREATE OR REPLACE FUNCTION holdfast.forget_lines(p_most integer) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_until bigint := CASE WHEN EXISTS (SELECT FROM holdfast.session)
                           THEN holdfast.microseconds() - 3600000000
                           ELSE 9223372036854775807 END;
    v_floor bigint;
BEGIN
    WITH idle AS (SELECT name FROM holdfast.line
                  WHERE holders = 0 AND waiting = 0 AND last < v_until AND NOT EXISTS
                      (SELECT FROM holdfast.watch WHERE watch.name = line.name)
                  LIMIT p_most FOR UPDATE SKIP LOCKED),
         gone AS (DELETE FROM holdfast.line WHERE name IN (SELECT name FROM idle)
                  RETURNING last)
    SELECT max(last) INTO v_floor FROM gone;
    UPDATE holdfast.head SET floor = v_floor WHERE floor < v_floor;
END $$;

CREATE OR REPLACE FUNCTION holdfast.bye(p_sid text, p_connection bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_connection bigint;
BEGIN
    SELECT connection INTO v_connection FROM holdfast.session WHERE sid = p_sid FOR UPDATE;
    IF v_connection IS NULL OR v_connection <> p_connection THEN
        RETURN 2;
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM holdfast.bury(p_sid, NULL);
    PERFORM holdfast.forget_lines(1000);
    RETURN 0;
END $$;

-- ---- Places -------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION holdfast.enter(p_sid text, p_connection bigint, p_id bigint,
                                          p_name text, p_weight bigint, p_capacity bigint,
                                          p_claim boolean, p_only_free boolean, p_limit bigint,
                                          p_note text)
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_connection bigint;
    v_capacity   bigint;
    v_claim      boolean;
    v_used       bigint;
    v_holders    bigint;
    v_waiting    bigint;
    v_last       bigint;
    v_watched    boolean;
    v_fits       boolean;
    v_refused    boolean;
    v_now        bigint;
    v_ret        holdfast.answer;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM holdfast.refusal(p_sid, p_connection);
    END IF;
    SELECT connection INTO v_connection FROM holdfast.session WHERE sid = p_sid FOR SHARE;
    IF v_connection IS NULL OR v_connection <> p_connection THEN
        v_ret.code := CASE WHEN v_connection IS NULL THEN 2 ELSE 3 END;
        RETURN v_ret;
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN -- a grant must not be forgotten
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    LOOP
        SELECT capacity, claim, used, holders, waiting, last, changes, watched
        INTO v_capacity, v_claim, v_used, v_holders, v_waiting, v_last, v_ret.stamp, v_watched
        FROM holdfast.line WHERE name = p_name FOR UPDATE;
        EXIT WHEN FOUND;
        PERFORM holdfast.make_line(p_name, p_capacity, p_claim);
    END LOOP;
    IF v_holders + v_waiting = 0 THEN
        v_capacity := p_capacity;
        v_claim := p_claim;
    END IF;
    v_fits := v_waiting = 0 AND v_used + p_weight <= p_capacity;
    v_refused := v_capacity <> p_capacity OR v_claim <> p_claim OR (NOT v_fits AND
                 (p_only_free OR (p_limit > 0 AND v_waiting >= p_limit)));
    v_now := extract(epoch FROM clock_timestamp()) * 1000000;
    v_last := greatest(v_last + 1, v_now);
    IF NOT v_refused THEN
        v_ret.slot := CASE WHEN v_fits AND p_capacity NOT IN (1, 4294967295)
                           THEN holdfast.free_slot(p_name, p_capacity) ELSE -1 END;
        v_ret.state := CASE WHEN v_fits THEN 'g' ELSE 'w' END;
        INSERT INTO holdfast.ticket (sid, id, name, seq, weight, claim, state, slot, since,
                                     news, note)
        VALUES (p_sid, p_id, p_name, v_last, p_weight, p_claim, v_ret.state::"char",
                v_ret.slot, v_now, 0, p_note)
        ON CONFLICT (sid, id) DO NOTHING;
    END IF;
    IF v_refused OR NOT FOUND THEN -- asked before, maybe; the answer was lost
        IF EXISTS (SELECT FROM holdfast.ticket WHERE sid = p_sid AND id = p_id) THEN
            RETURN holdfast.show(p_sid, p_id);
        END IF;
        v_ret.code := CASE WHEN v_capacity <> p_capacity OR v_claim <> p_claim THEN 4
                           WHEN p_only_free THEN 0 ELSE 5 END;
        v_ret.state := 'r';
        v_ret.nearest := (SELECT max(seq) FROM holdfast.ticket
                          WHERE name = p_name AND state <> 'b');
        RETURN v_ret;
    END IF;
    v_ret.stamp := v_ret.stamp + 1;
    UPDATE holdfast.line
    SET capacity = p_capacity, claim = p_claim, last = v_last, changes = v_ret.stamp,
        used = CASE WHEN v_fits THEN v_used + p_weight ELSE v_used END,
        holders = CASE WHEN v_fits THEN v_holders + 1 ELSE v_holders END,
        waiting = CASE WHEN v_fits THEN v_waiting ELSE v_waiting + 1 END, watched = false
    WHERE name = p_name;
    IF v_watched THEN
        PERFORM holdfast.tell_watchers(p_name);
    END IF;
    v_ret.code := 0;
    v_ret.seq := v_last;
    v_ret.since := v_now;
    v_ret.weight := p_weight;
    v_ret.ahead := v_holders + v_waiting;
    v_ret.nearest := v_last - 1;
    RETURN v_ret;
END $$;

CREATE OR REPLACE FUNCTION holdfast.leave(p_sid text, p_connection bigint, p_id bigint,
                                          p_name text, OUT code integer, OUT lost boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_connection bigint;
    v_capacity   bigint;
    v_used       bigint;
    v_holders    bigint;
    v_waiting    bigint;
    v_watched    boolean;
    v_state      "char";
    v_weight     bigint;
    v_sid        text;
    v_id         bigint;
    v_now        bigint;
BEGIN
    lost := false;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM holdfast.refusal(p_sid, p_connection);
    END IF;
    SELECT connection INTO v_connection FROM holdfast.session WHERE sid = p_sid FOR SHARE;
    code := CASE WHEN v_connection IS NULL THEN 2
                 WHEN v_connection <> p_connection THEN 3 ELSE 0 END;
    IF code <> 0 THEN
        RETURN;
    END IF;
    SELECT capacity, used, holders, waiting, watched
    INTO v_capacity, v_used, v_holders, v_waiting, v_watched
    FROM holdfast.line WHERE name = p_name FOR UPDATE;
    -- Forgotten in a crash, it is given up again when we are back.  But who waits may be told
    -- a slot, which must not be given out twice.
    IF v_waiting = 0 OR v_capacity IN (1, 4294967295) THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    DELETE FROM holdfast.ticket WHERE sid = p_sid AND id = p_id AND state <> 'b'
    RETURNING state, weight INTO v_state, v_weight;
    IF NOT FOUND THEN
        lost := EXISTS (SELECT FROM holdfast.ticket WHERE sid = p_sid AND id = p_id);
        RETURN;
    ELSIF v_state <> 'g' OR v_capacity <> 1 OR v_watched THEN
        PERFORM holdfast.part(p_name, v_state, v_weight);
        RETURN;
    END IF;
    -- A mutex of which nobody but those in line wants to know: advance(), but quicker.
    v_used := 0;
    v_holders := 0;
    IF v_waiting > 0 THEN
        SELECT sid, id INTO v_sid, v_id FROM holdfast.ticket
        WHERE name = p_name AND state = 'w' ORDER BY seq LIMIT 1;
        v_now := extract(epoch FROM clock_timestamp()) * 1000000;
        UPDATE holdfast.ticket SET state = 'g', since = v_now, news = news + 1
        WHERE sid = v_sid AND id = v_id;
        v_used := 1;
        v_holders := 1;
        v_waiting := v_waiting - 1;
        PERFORM pg_notify('hf_' || v_sid, 'g ' || v_id || ' -1 ' || v_now);
    END IF;
    UPDATE holdfast.line
    SET used = v_used, holders = v_holders, waiting = v_waiting, changes = changes + 1
    WHERE name = p_name;
END $$;

CREATE OR REPLACE FUNCTION holdfast.read(p_sid text, p_connection bigint, p_id bigint)
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_code integer := holdfast.refusal(p_sid, p_connection);
BEGIN
    IF v_code <> 0 THEN
        RETURN (v_code, '-', 0, 0, -1, 0, 0, 0, 0, NULL)::holdfast.answer;
    END IF;
    RETURN holdfast.show(p_sid, p_id);
END $$;

CREATE OR REPLACE FUNCTION holdfast.amend(p_sid text, p_connection bigint, p_id bigint,
                                          p_weight bigint)
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_code   integer := holdfast.refusal(p_sid, p_connection);
    v_ticket holdfast.ticket;
    v_name   text;
BEGIN
    IF v_code <> 0 THEN
        RETURN (v_code, '-', 0, 0, -1, 0, 0, 0, 0, NULL)::holdfast.answer;
    END IF;
    SELECT name INTO v_name FROM holdfast.ticket WHERE sid = p_sid AND id = p_id;
    PERFORM FROM holdfast.line WHERE name = v_name FOR UPDATE;
    SELECT * INTO v_ticket FROM holdfast.ticket WHERE sid = p_sid AND id = p_id;
    IF v_ticket.state <> 'b' AND p_weight < v_ticket.weight THEN
        UPDATE holdfast.ticket SET weight = p_weight WHERE sid = p_sid AND id = p_id;
        PERFORM holdfast.advance(v_name, CASE WHEN v_ticket.state = 'g'
                                 THEN v_ticket.weight - p_weight ELSE 0 END, 0, 0, p_sid, p_id);
    END IF;
    RETURN holdfast.show(p_sid, p_id);
END $$;

-- Be told once that a line changes; unless it has changed since p_stamp (0: not known), or one
-- of p_seqs has left it, already.
CREATE OR REPLACE FUNCTION holdfast.watch(p_sid text, p_connection bigint, p_name text,
                                          p_stamp bigint, p_seqs bigint[],
                                          OUT code integer, OUT changed boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_changes bigint;
BEGIN
    code := holdfast.refusal(p_sid, p_connection);
    changed := false;
    IF code <> 0 THEN
        RETURN;
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT changes INTO v_changes FROM holdfast.line WHERE name = p_name;
    changed := cardinality(p_seqs) = 0 AND p_stamp <> 0 AND
               p_stamp <> coalesce(v_changes, 1);
    IF changed THEN
        RETURN;
    END IF;
    PERFORM holdfast.make_line(p_name, 1, false);
    IF cardinality(p_seqs) = 0 THEN -- 1: there was no line, which is as good as an empty one
        SELECT CASE WHEN p_stamp = 1 THEN holders + waiting > 0
                    ELSE p_stamp > 1 AND p_stamp <> changes END INTO changed
        FROM holdfast.line WHERE name = p_name;
    ELSE
        changed := (SELECT count(*) FROM holdfast.ticket WHERE name = p_name AND state <> 'b'
                    AND seq = ANY (p_seqs)) < cardinality(p_seqs);
    END IF;
    IF NOT changed THEN
        INSERT INTO holdfast.watch VALUES (p_name, p_sid) ON CONFLICT DO NOTHING;
        UPDATE holdfast.line SET watched = true WHERE name = p_name AND NOT watched;
    END IF;
END $$;

-- ---- Places of others -------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION holdfast.break_place(p_name text, p_seq bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_ticket holdfast.ticket;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM FROM holdfast.line WHERE name = p_name FOR UPDATE;
    SELECT * INTO v_ticket FROM holdfast.ticket
    WHERE name = p_name AND seq = p_seq AND state <> 'b';
    IF NOT FOUND THEN
        RETURN 6;
    END IF;
    UPDATE holdfast.ticket SET state = 'b', news = news + 1
    WHERE sid = v_ticket.sid AND id = v_ticket.id;
    PERFORM holdfast.part(p_name, v_ticket.state, v_ticket.weight);
    PERFORM pg_notify('hf_' || v_ticket.sid, 'b ' || v_ticket.id);
    RETURN 0;
END $$;

CREATE OR REPLACE FUNCTION holdfast.ask(p_name text, p_seq bigint, p_why text) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_sid text;
    v_id  bigint;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM FROM holdfast.line WHERE name = p_name FOR UPDATE;
    UPDATE holdfast.ticket SET asked = p_why, news = news + 1
    WHERE name = p_name AND seq = p_seq AND state <> 'b' RETURNING sid, id INTO v_sid, v_id;
    IF NOT FOUND THEN
        RETURN 6;
    END IF;
    PERFORM pg_notify('hf_' || v_sid, 'a ' || v_id);
    RETURN 0;
END $$;

-- Does somebody hold it by that token?
CREATE OR REPLACE FUNCTION holdfast.prove(p_name text, p_token bigint) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
    SELECT EXISTS (SELECT FROM holdfast.ticket
                   WHERE name = p_name AND seq = p_token AND state = 'g')
$$;

-- Every place in one line, or in all (NULL); a first row with the stamp alone.
CREATE OR REPLACE FUNCTION holdfast.list(p_name text)
RETURNS TABLE (stamp bigint, name text, seq bigint, weight bigint, capacity bigint,
               claim boolean, state text, slot integer, since bigint, note text)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
    SELECT coalesce((SELECT changes FROM holdfast.line WHERE line.name = p_name), 1),
           NULL, 0, 0, 0, false, NULL, 0, 0, NULL
    UNION ALL
    SELECT l.changes, t.name, t.seq, t.weight, l.capacity, l.claim, t.state::text, t.slot,
           t.since, t.note
    FROM holdfast.ticket t JOIN holdfast.line l ON l.name = t.name
    WHERE t.state <> 'b' AND (p_name IS NULL OR t.name = p_name)
$$;

-- For people: how much there is in all lines, and in the one of that name; the highest token;
-- lines that count otherwise than their tickets do.
CREATE OR REPLACE FUNCTION holdfast.look(p_name text, OUT sessions bigint, OUT holders bigint,
                                         OUT waiters bigint, OUT empty bigint,
                                         OUT name_holders bigint, OUT name_waiters bigint,
                                         OUT token bigint, OUT wrong bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
    WITH counted AS (
        SELECT t.name, count(*) FILTER (WHERE t.state = 'g') AS g,
               count(*) FILTER (WHERE t.state = 'w') AS w,
               coalesce(sum(t.weight) FILTER (WHERE t.state = 'g'), 0) AS used
        FROM holdfast.ticket t WHERE t.state <> 'b' GROUP BY t.name
    )
    SELECT (SELECT count(*) FROM holdfast.session),
           coalesce(sum(c.g), 0)::bigint, coalesce(sum(c.w), 0)::bigint,
           count(l.name) FILTER (WHERE c.name IS NULL),
           coalesce(sum(c.g) FILTER (WHERE c.name = p_name), 0)::bigint,
           coalesce(sum(c.w) FILTER (WHERE c.name = p_name), 0)::bigint,
           greatest(max(l.last), (SELECT floor FROM holdfast.head)),
           count(*) FILTER (WHERE (l.holders, l.waiting, l.used) IS DISTINCT FROM
                            (coalesce(c.g, 0), coalesce(c.w, 0), coalesce(c.used, 0)))
    FROM holdfast.line l FULL JOIN counted c ON c.name = l.name
$$;

-- ---- For the data that a lock protects ----------------------------------------------------------

-- Call it first in a transaction that changes what the lock protects: it fails if a later
-- holder was here before, and keeps later ones out until the transaction ends.
CREATE OR REPLACE FUNCTION holdfast.fence(p_name text, p_token bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_token bigint;
BEGIN
    INSERT INTO holdfast.fence AS f VALUES (p_name, p_token)
    ON CONFLICT (name) DO UPDATE SET token = p_token WHERE f.token <= p_token;
    IF NOT FOUND THEN
        SELECT token INTO v_token FROM holdfast.fence WHERE name = p_name;
        RAISE EXCEPTION 'the lock "%" was ours by token %, but token % was here since',
            p_name, p_token, v_token USING ERRCODE = 'HF002',
            HINT = 'Roll back: somebody else holds the lock by now.';
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA holdfast FROM PUBLIC;
