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

CREATE OR REPLACE FUNCTION holdfast.microseconds() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint
$$;

-- What is wrong with a session; 0 if nothing is.  It cannot be buried, nor get a newer
-- connection, before we are done.
CREATE OR REPLACE FUNCTION holdfast.refusal(p_sid text, p_connection bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_connection bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'holdfast needs transactions that are read committed'
            USING ERRCODE = 'HF001';
    END IF;
    SELECT connection INTO v_connection FROM holdfast.session WHERE sid = p_sid FOR SHARE;
    RETURN CASE WHEN v_connection IS NULL THEN 2
                WHEN v_connection <> p_connection THEN 3 ELSE 0 END;
END $$;

CREATE OR REPLACE FUNCTION holdfast.tell(p_sid text, p_text text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    SELECT pg_catalog.pg_notify('hf_' || p_sid, p_text)
$$;

-- The line's row, locked; made if there is none and p_make.
CREATE OR REPLACE FUNCTION holdfast.lock_line(p_name text, p_make boolean, p_capacity bigint,
                                              p_claim boolean) RETURNS holdfast.line
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_line  holdfast.line;
    v_floor bigint;
BEGIN
    LOOP
        SELECT * INTO v_line FROM holdfast.line WHERE name = p_name FOR UPDATE;
        EXIT WHEN FOUND OR NOT p_make;
        SELECT floor INTO v_floor FROM holdfast.head;
        INSERT INTO holdfast.line (name, capacity, claim, used, holders, waiting, last, changes)
        VALUES (p_name, p_capacity, p_claim, 0, 0, 0, v_floor,
                greatest(v_floor, holdfast.microseconds()))
        ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN v_line;
END $$;

CREATE OR REPLACE FUNCTION holdfast.free_slot(p_line holdfast.line) RETURNS integer
LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN p_line.capacity IN (1, 4294967295) THEN -1 ELSE (
        SELECT min(s) FROM (SELECT 0 AS s UNION ALL
            SELECT slot + 1 FROM holdfast.ticket
            WHERE name = p_line.name AND state = 'g') AS candidates
        WHERE s NOT IN (SELECT slot FROM holdfast.ticket
                        WHERE name = p_line.name AND state = 'g')) END
$$;

-- Grant those who wait, in order, while they fit; tell them, but for p_me, who hears it by an
-- answer; write the line down, and tell those who watch it.
CREATE OR REPLACE FUNCTION holdfast.advance(p_line holdfast.line, p_sid text, p_id bigint)
RETURNS holdfast.line
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_next  holdfast.ticket;
    v_watch text;
BEGIN
    WHILE p_line.waiting > 0 AND p_line.used < p_line.capacity LOOP
        SELECT * INTO v_next FROM holdfast.ticket
        WHERE name = p_line.name AND state = 'w' ORDER BY seq LIMIT 1;
        EXIT WHEN NOT FOUND OR p_line.used + v_next.weight > p_line.capacity;
        v_next.slot := holdfast.free_slot(p_line);
        v_next.since := holdfast.microseconds();
        UPDATE holdfast.ticket
        SET state = 'g', slot = v_next.slot, since = v_next.since, news = news + 1
        WHERE sid = v_next.sid AND id = v_next.id;
        p_line.used := p_line.used + v_next.weight;
        p_line.holders := p_line.holders + 1;
        p_line.waiting := p_line.waiting - 1;
        IF v_next.sid <> p_sid OR v_next.id <> p_id THEN
            PERFORM holdfast.tell(v_next.sid, format('g %s %s %s', v_next.id, v_next.slot,
                                                     v_next.since));
        END IF;
    END LOOP;
    p_line.changes := p_line.changes + 1;
    UPDATE holdfast.line
    SET capacity = p_line.capacity, claim = p_line.claim, used = p_line.used,
        holders = p_line.holders, waiting = p_line.waiting, last = p_line.last,
        changes = p_line.changes, watched = false
    WHERE name = p_line.name;
    IF NOT p_line.watched THEN
        RETURN p_line;
    END IF;
    FOR v_watch IN DELETE FROM holdfast.watch WHERE name = p_line.name RETURNING sid LOOP
        PERFORM holdfast.tell(v_watch, 'c ' || p_line.name);
    END LOOP;
    RETURN p_line;
END $$;

-- Take a ticket out of its line, which is locked.
CREATE OR REPLACE FUNCTION holdfast.part(p_line holdfast.line, p_ticket holdfast.ticket)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_ticket.state = 'g' THEN
        p_line.used := p_line.used - p_ticket.weight;
        p_line.holders := p_line.holders - 1;
    ELSE
        p_line.waiting := p_line.waiting - 1;
    END IF;
    PERFORM holdfast.advance(p_line, '', 0);
END $$;

-- A ticket as its owner sees it.
CREATE OR REPLACE FUNCTION holdfast.show(p_line holdfast.line, p_ticket holdfast.ticket)
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_ret holdfast.answer;
BEGIN
    v_ret := (0, p_ticket.state::text, p_line.changes, p_ticket.seq, p_ticket.slot,
              p_ticket.since, p_ticket.weight, 0, 0, p_ticket.asked);
    IF p_line.holders + p_line.waiting > 1 THEN
        SELECT count(*), coalesce(max(seq), 0) INTO v_ret.ahead, v_ret.nearest
        FROM holdfast.ticket
        WHERE name = p_ticket.name AND state <> 'b' AND seq < p_ticket.seq;
    END IF;
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
    v_code integer := holdfast.refusal(p_sid, p_connection);
BEGIN
    IF v_code = 0 THEN
        UPDATE holdfast.session SET renewal = nextval('holdfast.renewal') WHERE sid = p_sid;
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
BEGIN
    IF v_code <> 0 THEN
        RETURN v_code;
    END IF;
    FOR v_id IN SELECT id FROM holdfast.ticket
                WHERE sid = p_sid AND state <> 'b' AND id <> ALL (p_ids) ORDER BY name LOOP
        PERFORM holdfast.leave(p_sid, p_connection, v_id);
    END LOOP;
    RETURN 0;
END $$;

-- End a session and all it has, if it was not renewed since that renewal (NULL: anyway).
CREATE OR REPLACE FUNCTION holdfast.bury(p_sid text, p_renewal bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_name   text;
    v_line   holdfast.line;
    v_ticket holdfast.ticket;
BEGIN
    DELETE FROM holdfast.session WHERE sid = p_sid AND renewal = coalesce(p_renewal, renewal);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM holdfast.watch WHERE sid = p_sid;
    FOR v_name IN SELECT DISTINCT name FROM holdfast.ticket WHERE sid = p_sid ORDER BY name LOOP
        v_line := holdfast.lock_line(v_name, false, 0, false);
        FOR v_ticket IN DELETE FROM holdfast.ticket WHERE sid = p_sid AND name = v_name
                        RETURNING * LOOP
            IF v_ticket.state <> 'b' THEN
                PERFORM holdfast.part(v_line, v_ticket);
                v_line := holdfast.lock_line(v_name, false, 0, false);
            END IF;
        END LOOP;
    END LOOP;
    RETURN true;
END $$;

-- Forget lines that nobody is in, once there are no sessions; tokens go on from the highest.
CREATE OR REPLACE FUNCTION holdfast.forget_lines() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_name  text;
    v_floor bigint;
BEGIN
    IF EXISTS (SELECT FROM holdfast.session) THEN
        RETURN;
    END IF;
    UPDATE holdfast.head SET floor = greatest(floor, coalesce(
        (SELECT max(last) FROM holdfast.line), 0)) RETURNING floor INTO v_floor;
    DELETE FROM holdfast.line WHERE holders = 0 AND waiting = 0 AND last <= v_floor;
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
    PERFORM holdfast.bury(p_sid, NULL);
    PERFORM holdfast.forget_lines();
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
    v_code   integer := holdfast.refusal(p_sid, p_connection);
    v_line   holdfast.line;
    v_ticket holdfast.ticket;
    v_ret    holdfast.answer;
    v_fits   boolean;
BEGIN
    v_ret.code := v_code;
    IF v_code <> 0 THEN
        RETURN v_ret;
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN -- a grant must not be forgotten
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    v_line := holdfast.lock_line(p_name, true, p_capacity, p_claim);
    SELECT * INTO v_ticket FROM holdfast.ticket WHERE sid = p_sid AND id = p_id;
    IF FOUND THEN -- asked before; the answer was lost
        IF v_ticket.state = 'b' THEN
            RETURN (0, '-', v_line.changes, 0, -1, 0, 0, 0, 0, NULL)::holdfast.answer;
        END IF;
        RETURN holdfast.show(v_line, v_ticket);
    END IF;
    IF v_line.holders = 0 AND v_line.waiting = 0 THEN
        v_line.capacity := p_capacity;
        v_line.claim := p_claim;
    ELSIF v_line.capacity <> p_capacity OR v_line.claim <> p_claim THEN
        v_ret.code := 4;
        RETURN v_ret;
    END IF;
    v_fits := v_line.waiting = 0 AND v_line.used + p_weight <= p_capacity;
    IF NOT v_fits AND p_only_free THEN
        RETURN (0, 'r', v_line.changes, 0, -1, 0, 0, 0,
                (SELECT max(seq) FROM holdfast.ticket WHERE name = p_name AND state <> 'b'),
                NULL)::holdfast.answer;
    ELSIF NOT v_fits AND p_limit > 0 AND v_line.waiting >= p_limit THEN
        v_ret.code := 5;
        RETURN v_ret;
    END IF;
    v_line.last := greatest(v_line.last + 1, holdfast.microseconds());
    v_ticket := (p_sid, p_id, p_name, v_line.last, p_weight, p_claim, 'w', -1,
                 holdfast.microseconds(), 0, NULL, p_note);
    IF v_fits THEN
        v_ticket.state := 'g';
        v_ticket.slot := holdfast.free_slot(v_line);
        v_line.used := v_line.used + p_weight;
        v_line.holders := v_line.holders + 1;
    ELSE
        v_line.waiting := v_line.waiting + 1;
    END IF;
    INSERT INTO holdfast.ticket SELECT v_ticket.*;
    v_line := holdfast.advance(v_line, p_sid, p_id);
    RETURN holdfast.show(v_line, v_ticket);
END $$;

CREATE OR REPLACE FUNCTION holdfast.leave(p_sid text, p_connection bigint, p_id bigint,
                                          OUT code integer, OUT lost boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_line   holdfast.line;
    v_ticket holdfast.ticket;
    v_name   text;
BEGIN
    code := holdfast.refusal(p_sid, p_connection);
    lost := false;
    IF code <> 0 THEN
        RETURN;
    END IF;
    SELECT name INTO v_name FROM holdfast.ticket WHERE sid = p_sid AND id = p_id;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_line := holdfast.lock_line(v_name, false, 0, false);
    SELECT * INTO v_ticket FROM holdfast.ticket WHERE sid = p_sid AND id = p_id;
    IF v_ticket.state = 'b' THEN
        lost := true;
        RETURN;
    END IF;
    -- Forgotten in a crash, it is given up again when we are back.
    PERFORM set_config('synchronous_commit', 'off', true);
    DELETE FROM holdfast.ticket WHERE sid = p_sid AND id = p_id;
    PERFORM holdfast.part(v_line, v_ticket);
END $$;

CREATE OR REPLACE FUNCTION holdfast.read(p_sid text, p_connection bigint, p_id bigint)
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_code   integer := holdfast.refusal(p_sid, p_connection);
    v_ticket holdfast.ticket;
    v_line   holdfast.line;
BEGIN
    IF v_code <> 0 THEN
        RETURN (v_code, '-', 0, 0, -1, 0, 0, 0, 0, NULL)::holdfast.answer;
    END IF;
    SELECT * INTO v_ticket FROM holdfast.ticket WHERE sid = p_sid AND id = p_id;
    IF NOT FOUND OR v_ticket.state = 'b' THEN
        RETURN (0, '-', 0, 0, -1, 0, 0, 0, 0, NULL)::holdfast.answer;
    END IF;
    SELECT * INTO v_line FROM holdfast.line WHERE name = v_ticket.name;
    RETURN holdfast.show(v_line, v_ticket);
END $$;

CREATE OR REPLACE FUNCTION holdfast.amend(p_sid text, p_connection bigint, p_id bigint,
                                          p_weight bigint)
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_code   integer := holdfast.refusal(p_sid, p_connection);
    v_ticket holdfast.ticket;
    v_line   holdfast.line;
    v_name   text;
BEGIN
    IF v_code <> 0 THEN
        RETURN (v_code, '-', 0, 0, -1, 0, 0, 0, 0, NULL)::holdfast.answer;
    END IF;
    SELECT name INTO v_name FROM holdfast.ticket WHERE sid = p_sid AND id = p_id;
    v_line := holdfast.lock_line(v_name, false, 0, false);
    SELECT * INTO v_ticket FROM holdfast.ticket WHERE sid = p_sid AND id = p_id;
    IF NOT FOUND OR v_ticket.state = 'b' THEN
        RETURN (0, '-', 0, 0, -1, 0, 0, 0, 0, NULL)::holdfast.answer;
    END IF;
    IF p_weight < v_ticket.weight THEN
        IF v_ticket.state = 'g' THEN
            v_line.used := v_line.used - v_ticket.weight + p_weight;
        END IF;
        UPDATE holdfast.ticket SET weight = p_weight WHERE sid = p_sid AND id = p_id;
        v_line := holdfast.advance(v_line, p_sid, p_id);
        SELECT * INTO v_ticket FROM holdfast.ticket WHERE sid = p_sid AND id = p_id;
    END IF;
    RETURN holdfast.show(v_line, v_ticket);
END $$;

-- Be told once that a line changes; unless it has changed since p_stamp (0: not known), or one
-- of p_seqs has left it, already.
CREATE OR REPLACE FUNCTION holdfast.watch(p_sid text, p_connection bigint, p_name text,
                                          p_stamp bigint, p_seqs bigint[],
                                          OUT code integer, OUT changed boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_line holdfast.line;
BEGIN
    code := holdfast.refusal(p_sid, p_connection);
    changed := false;
    IF code <> 0 THEN
        RETURN;
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT changes INTO v_line.changes FROM holdfast.line WHERE name = p_name;
    changed := cardinality(p_seqs) = 0 AND p_stamp <> 0 AND
               p_stamp <> coalesce(v_line.changes, 1);
    IF changed THEN
        RETURN;
    END IF;
    v_line := holdfast.lock_line(p_name, true, 1, false);
    IF cardinality(p_seqs) = 0 THEN
        changed := p_stamp > 1 AND p_stamp <> v_line.changes;
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
    v_line   holdfast.line := holdfast.lock_line(p_name, false, 0, false);
    v_ticket holdfast.ticket;
BEGIN
    SELECT * INTO v_ticket FROM holdfast.ticket
    WHERE name = p_name AND seq = p_seq AND state <> 'b';
    IF NOT FOUND THEN
        RETURN 6;
    END IF;
    UPDATE holdfast.ticket SET state = 'b', news = news + 1
    WHERE sid = v_ticket.sid AND id = v_ticket.id;
    PERFORM holdfast.part(v_line, v_ticket);
    PERFORM holdfast.tell(v_ticket.sid, 'b ' || v_ticket.id);
    RETURN 0;
END $$;

CREATE OR REPLACE FUNCTION holdfast.ask(p_name text, p_seq bigint, p_why text) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_line holdfast.line := holdfast.lock_line(p_name, false, 0, false);
    v_sid  text;
    v_id   bigint;
BEGIN
    UPDATE holdfast.ticket SET asked = p_why, news = news + 1
    WHERE name = p_name AND seq = p_seq AND state <> 'b' RETURNING sid, id INTO v_sid, v_id;
    IF NOT FOUND THEN
        RETURN 6;
    END IF;
    PERFORM holdfast.tell(v_sid, 'a ' || v_id);
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
