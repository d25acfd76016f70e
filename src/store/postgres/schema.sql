-- schema.sql - lines in a PostgreSQL database, and the functions that change them.
--
-- A session has a renewal number, drawn anew with every renewal; no time of day ends it.
-- Numbers rise: a session whose number is lower than one that a client drew longer ago than the
-- session's ttl, by that client's own clock, has not been renewed since and may be buried.  A
-- line is a row that counts what is held and who waits; it is locked before anything in it is
-- looked at, so tickets are numbered in the order of their commits.  A ticket's seq is its token
-- too.
--
-- Functions lock our session first, then lines in the order of their names.  They answer a
-- code first: 0 done, 2 there is no such session, 3 it has a newer connection, 4 those there
-- are of another kind, 5 too many wait, 6 there is no such place, 7 this is another version.
--
-- May be run again.  It changes nothing that belongs to another role.  schema.c puts a line in
-- front that sets holdfast.version: the version of this layout.
--
-- What every layout keeps, for the next one to find: head with version and floor, fence, a row in
-- session for each client, and line.last.
SELECT pg_catalog.pg_advisory_xact_lock(4846281),
       pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

-- What somebody else has put there would run with our rights: a trigger, a default.
DO $$
DECLARE
    v_me      oid := (SELECT oid FROM pg_roles WHERE rolname = current_user);
    v_schema  oid;
    v_owner   oid;
    v_other   text;
    v_ours    integer := current_setting('holdfast.version');
    v_version integer;
    v_lives   bigint;
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

    -- An older layout is replaced once nobody lives in it.  hello() reads head first, so a session
    -- that begins now is either counted or refused by the new hello().
    EXECUTE 'SELECT count(*) FROM holdfast.session' INTO v_lives;
    IF v_lives = 0 THEN
        LOCK TABLE holdfast.head IN ACCESS EXCLUSIVE MODE;
        EXECUTE 'SELECT count(*) FROM holdfast.session' INTO v_lives;
    END IF;
    IF v_lives > 0 THEN
        RAISE EXCEPTION 'it is of version %, ours of %, and % sessions live in it: SELECT * FROM '
            'holdfast.session', v_version, v_ours, v_lives USING ERRCODE = 'HF004';
    END IF;
    EXECUTE 'UPDATE holdfast.head SET floor = greatest(floor, (SELECT max(last) FROM holdfast.line))';
    FOR v_drop IN
        SELECT format('DROP ROUTINE %s', oid::regprocedure) FROM pg_proc
        WHERE pronamespace = v_schema AND proname <> 'fence'
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
    floor   bigint  NOT NULL, -- highest token of all lines that were forgotten
    swept   text    NOT NULL  -- the line that sweep() was at
);
INSERT INTO holdfast.head (version, floor, swept) VALUES (current_setting('holdfast.version')::integer, 0, '')
ON CONFLICT DO NOTHING;

CREATE SEQUENCE IF NOT EXISTS holdfast.renewal;

CREATE TABLE IF NOT EXISTS holdfast.session (
    sid        text   PRIMARY KEY CHECK (sid ~ '^[0-9a-f]{16}$'),
    connection bigint NOT NULL,
    renewal    bigint NOT NULL,
    renewed    bigint NOT NULL, -- microseconds since 1970: see bury_silent()
    ttl        bigint NOT NULL CHECK (ttl BETWEEN 500 AND 3600000), -- milliseconds
    note       text   NOT NULL, -- which Holdfast it is, for people
    trail      integer NOT NULL -- as in holdfast.trail: what is noted down
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX IF NOT EXISTS session_renewal ON holdfast.session (renewal);

-- Lines and tickets have no CHECK: the server would read it anew from its text for each statement,
-- which took a sixth of an enter and a leave.  check_shape() is what sees to it.
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
    secret   text    NOT NULL, -- of its owner: what a message that grants it must know
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
CREATE INDEX IF NOT EXISTS ticket_patience ON holdfast.ticket (sid) WHERE state = 'w';
CREATE INDEX IF NOT EXISTS ticket_news ON holdfast.ticket (sid) WHERE news > 0;

CREATE TABLE IF NOT EXISTS holdfast.watch (
    name text NOT NULL,
    sid  text NOT NULL,
    PRIMARY KEY (name, sid)
);
CREATE INDEX IF NOT EXISTS watch_sid ON holdfast.watch (sid);

-- What is noted down of all that happens.
CREATE TABLE IF NOT EXISTS holdfast.trail (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    trail   integer NOT NULL, -- 1 changes, for those who survey; 2 history: see set_trail()
    history integer NOT NULL, -- how many records of it are kept
    number  bigint  NOT NULL  -- of the last of them
);
INSERT INTO holdfast.trail (trail, history, number) VALUES (0, 0, 0) ON CONFLICT DO NOTHING;

-- Those who survey all lines; and the lines that changed since there are any, by which
-- transaction.  After a crash, or a failover, both are empty: whoever surveys looks at all.
CREATE UNLOGGED TABLE IF NOT EXISTS holdfast.surveyor (
    sid    text    PRIMARY KEY,
    stamp  bigint  NOT NULL, -- of the last answer
    seen   txid_snapshot NOT NULL, -- what was committed by then
    armed  boolean NOT NULL, -- he waits, and is to be told of the next change
    settle bigint            -- all transactions before that one have to end first: see survey()
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE UNLOGGED TABLE IF NOT EXISTS holdfast.change (
    name text   PRIMARY KEY,
    xid  bigint NOT NULL
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- What happened, as far as it is kept; empty after a crash or a failover.  To number records when
-- they are written would let one transaction after the other commit: number_past() does it.
CREATE SEQUENCE IF NOT EXISTS holdfast.event;
CREATE UNLOGGED TABLE IF NOT EXISTS holdfast.past (
    id       bigint  NOT NULL DEFAULT nextval('holdfast.event'),
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

-- The highest token that holdfast.fence() has seen of each lock.
CREATE TABLE IF NOT EXISTS holdfast.fence (
    name  text   PRIMARY KEY,
    token bigint NOT NULL
);

DO $$ BEGIN
    CREATE TYPE holdfast.answer AS (
        code integer, state text, seq bigint, slot integer, since bigint, weight bigint,
        ahead bigint, asked text
    );
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;

-- ---- For the functions below ------------------------------------------------------------------
--
-- To call another function costs as much as a statement, and a statement as much as a dozen
-- expressions; one that does the work of two by WITH costs more than the two.  `v_x := f()` costs
-- less than PERFORM f().  A function in LANGUAGE sql that is one expression, with no SET and no
-- SECURITY DEFINER, costs no call: the server puts the expression in its place
-- (test/postgres/schema.py makes sure of it).

-- The rule: a place is granted if nobody waits ahead of it and it fits beside those who hold.
CREATE OR REPLACE FUNCTION holdfast.fits(p_ahead bigint, p_used bigint, p_weight bigint,
                                         p_capacity bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_ahead = 0 AND p_used + p_weight <= p_capacity
$$;

CREATE OR REPLACE FUNCTION holdfast.microseconds() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint
$$;

-- Who has waited for a row must see all that was committed meanwhile.
CREATE OR REPLACE FUNCTION holdfast.check_isolation() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'holdfast needs transactions that are read committed'
            USING ERRCODE = 'HF001';
    END IF;
END $$;

-- What follows is relied on: it must be on disk before it is answered, and if it is not known
-- to a synchronous standby then, the server's warning must reach us.
CREATE OR REPLACE FUNCTION holdfast.be_sure() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF current_setting('client_min_messages') = 'error' THEN
        PERFORM set_config('client_min_messages', 'warning', true);
    END IF;
END $$;

-- Nonsense is refused: one row would be read by every client.
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

-- A note is shown to everybody; a secret goes into a NOTIFY, which has room for 8,000 bytes.
CREATE OR REPLACE FUNCTION holdfast.check_texts(p_note text, p_secret text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF octet_length(p_note) > 8192 OR octet_length(p_secret) > 64 THEN
        RAISE EXCEPTION 'a note or reason has % bytes, where 8192 are the most; a secret %, of 64',
            octet_length(p_note), octet_length(p_secret) USING ERRCODE = 'check_violation';
    END IF;
END $$;

-- Which run of which server this is.  Numbers drawn in another one count no more: its data may
-- be those of a standby that did not know of the last commits, or of a snapshot.
CREATE OR REPLACE FUNCTION holdfast.era() RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || ' ' ||
           (date_part('epoch', pg_postmaster_start_time()) * 1000000)::bigint;
END $$;

-- Where the server has no room left for messages, to send one fails, and all that was done
-- with it.  Who is not told finds out with his next renewal.
CREATE OR REPLACE FUNCTION holdfast.tell(p_sid text, p_text text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF pg_notification_queue_usage() < 0.9 THEN
        PERFORM pg_notify('hf_' || p_sid, p_text);
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
        PERFORM holdfast.check_shape(p_name, 1, p_capacity);
        -- Somebody may have begun to watch it while it was being forgotten.
        INSERT INTO holdfast.line (name, capacity, claim, used, holders, waiting, last, changes,
                                   watched)
        SELECT p_name, p_capacity, p_claim, 0, 0, 0, floor,
               greatest(floor, holdfast.microseconds()),
               EXISTS (SELECT FROM holdfast.watch WHERE name = p_name)
        FROM holdfast.head
        ON CONFLICT DO NOTHING;
        -- That may have waited for whoever forgets it, and knows of no token since.
        UPDATE holdfast.line SET last = floor
        FROM holdfast.head WHERE name = p_name AND last < floor;
    END LOOP;
END $$;

-- The lowest slot that none of the holders has.
CREATE OR REPLACE FUNCTION holdfast.lowest_slot(p_name text) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT min(s) FROM (
                SELECT 0 AS s UNION ALL
                SELECT slot + 1 FROM holdfast.ticket WHERE name = p_name AND state = 'g') AS x
            WHERE s NOT IN (SELECT slot FROM holdfast.ticket
                            WHERE name = p_name AND state = 'g'));
END $$;

-- The slot of the next holder.  Only a semaphore has slots.
CREATE OR REPLACE FUNCTION holdfast.free_slot(p_name text, p_capacity bigint, p_holders bigint)
RETURNS integer
LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN p_capacity IN (1, 4294967295) THEN -1
                WHEN p_holders = 0 THEN 0 ELSE holdfast.lowest_slot(p_name) END
$$;

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
        PERFORM holdfast.tell(v_sid, 'c ' || p_name);
    END LOOP;
END $$;

-- For those who survey all lines: one has changed.
CREATE OR REPLACE FUNCTION holdfast.note_change(p_name text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_sid text;
BEGIN
    INSERT INTO holdfast.change AS c VALUES (p_name, txid_current())
    ON CONFLICT (name) DO UPDATE SET xid = excluded.xid WHERE c.xid <> excluded.xid;
    FOR v_sid IN SELECT sid FROM holdfast.surveyor WHERE armed LOOP
        PERFORM holdfast.tell(v_sid, 's');
    END LOOP;
END $$;

-- What is to be noted down from now on.  Every session's row says so, for who changes a line has
-- that before him anyway.  To write them all waits for what these sessions do, so nothing goes
-- unnoticed once this is committed.  Our caller has locked holdfast.trail, and no session before.
CREATE OR REPLACE FUNCTION holdfast.set_trail(p_trail integer) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE holdfast.trail SET trail = p_trail WHERE trail <> p_trail;
    IF FOUND THEN
        UPDATE holdfast.session SET trail = p_trail WHERE trail <> p_trail;
    END IF;
END $$;

-- For the history: something has happened to a place, by what it is at present.
CREATE OR REPLACE FUNCTION holdfast.note_past(p_what text, p_ticket holdfast.ticket,
                                              p_capacity bigint, p_why text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO holdfast.past (what, time, name, seq, weight, capacity, claim, slot, note, reason)
    VALUES (p_what, holdfast.microseconds(), p_ticket.name, p_ticket.seq, p_ticket.weight,
            p_capacity, p_ticket.claim, p_ticket.slot, p_ticket.note, p_why);
END $$;

-- A line, whose row is locked, has changed: p_line is what the row is to become.  Grant those who
-- wait, in order, while they fit; tell them, but for p_sid and p_id, who hears it by an answer;
-- and tell those who watch.
--
-- p_left: the seq of a holder that gave its place up; 0: it is another change.  "g" says that a
-- place is granted.  That is enough after p_left: should a crash forget it, nobody else can have
-- the place.  Otherwise, and where there is a slot, "n" says that there is news: read() makes sure
-- that it is on disk.  Waiters came after every holder, so they are looked for behind p_left:
-- before it the index has entries of all that were here earlier, until it is vacuumed.
CREATE OR REPLACE FUNCTION holdfast.advance(p_line holdfast.line, p_left bigint, p_sid text,
                                            p_id bigint, p_trail integer)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_next holdfast.ticket;
BEGIN
    WHILE p_line.waiting > 0 LOOP
        UPDATE holdfast.ticket
        SET state = 'g', since = holdfast.microseconds(), news = news + 1,
            slot = holdfast.free_slot(p_line.name, p_line.capacity, p_line.holders)
        WHERE (sid, id) = (SELECT sid, id FROM holdfast.ticket
                           WHERE name = p_line.name AND state = 'w' AND seq > p_left
                           ORDER BY seq LIMIT 1) AND
              holdfast.fits(0, p_line.used, weight, p_line.capacity)
        RETURNING * INTO v_next;
        IF NOT FOUND THEN
            EXIT WHEN p_left = 0 OR p_line.holders > 0;
            p_left := 0; -- somebody has edited the table: look everywhere
            CONTINUE;
        END IF;
        p_line.used := p_line.used + v_next.weight;
        p_line.holders := p_line.holders + 1;
        p_line.waiting := p_line.waiting - 1;
        IF p_trail >= 2 THEN
            PERFORM holdfast.note_past('g', v_next, p_line.capacity);
        END IF;
        IF v_next.sid <> p_sid OR v_next.id <> p_id THEN
            PERFORM holdfast.tell(v_next.sid, CASE WHEN p_left > 0 AND v_next.slot < 0
                                  THEN format('g %s -1 %s %s', v_next.id, v_next.since,
                                              v_next.secret)
                                  ELSE 'n ' || v_next.id END);
        END IF;
    END LOOP;
    UPDATE holdfast.line
    SET used = p_line.used, holders = p_line.holders, waiting = p_line.waiting,
        changes = changes + 1, watched = false
    WHERE name = p_line.name;
    IF p_line.watched THEN
        PERFORM holdfast.tell_watchers(p_line.name);
    END IF;
    IF p_trail % 2 = 1 THEN
        PERFORM holdfast.note_change(p_line.name);
    END IF;
END $$;

-- Take a ticket out of its line, whose row p_line is locked.  p_what: what happened to it, if it
-- was granted: r if its owner gave it up.
CREATE OR REPLACE FUNCTION holdfast.part(p_line holdfast.line, p_ticket holdfast.ticket,
                                         p_trail integer, p_what text, p_why text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_trail >= 2 THEN
        PERFORM holdfast.note_past(CASE WHEN p_ticket.state = 'g' THEN p_what ELSE 'l' END,
                                   p_ticket, p_line.capacity, p_why);
    END IF;
    IF p_ticket.state = 'g' THEN
        p_line.used := p_line.used - p_ticket.weight;
        p_line.holders := p_line.holders - 1;
    ELSE
        p_line.waiting := p_line.waiting - 1;
    END IF;
    PERFORM holdfast.advance(p_line, CASE WHEN p_ticket.state = 'g' AND p_what = 'r'
                             THEN p_ticket.seq ELSE 0 END, '', 0, p_trail);
END $$;

-- Take out all that sessions have, which are gone already.  p_what: as of part().
CREATE OR REPLACE FUNCTION holdfast.clear(p_sids text[], p_trail integer, p_what text)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_line holdfast.line;
    v_less bigint;
    v_left bigint;
    v_gone bigint;
    v_now  bigint := holdfast.microseconds();
BEGIN
    IF p_trail % 2 = 1 THEN
        DELETE FROM holdfast.surveyor WHERE sid = ANY (p_sids);
    END IF;
    -- What is locked is just being told, and gone then.  To wait for that might be in vain.
    DELETE FROM holdfast.watch WHERE (name, sid) IN
        (SELECT name, sid FROM holdfast.watch WHERE sid = ANY (p_sids) FOR UPDATE SKIP LOCKED);
    PERFORM FROM holdfast.line
    WHERE name IN (SELECT name FROM holdfast.ticket WHERE sid = ANY (p_sids))
    ORDER BY name FOR UPDATE;
    FOR v_line.name, v_less, v_left, v_gone IN
        WITH gone AS (DELETE FROM holdfast.ticket WHERE sid = ANY (p_sids)
                      RETURNING *),
             told AS (INSERT INTO holdfast.past (what, time, name, seq, weight, capacity, claim,
                                                 slot, note)
                      SELECT CASE WHEN g.state = 'g' THEN p_what ELSE 'l' END, v_now, g.name,
                             g.seq, g.weight, l.capacity, g.claim, g.slot, g.note
                      FROM gone g JOIN holdfast.line l ON l.name = g.name
                      WHERE p_trail >= 2 AND g.state <> 'b' ORDER BY g.name, g.seq)
        SELECT name, coalesce(sum(weight) FILTER (WHERE state = 'g'), 0),
               count(*) FILTER (WHERE state = 'g'), count(*) FILTER (WHERE state = 'w')
        FROM gone WHERE state <> 'b' GROUP BY name ORDER BY name LOOP
        SELECT * INTO v_line FROM holdfast.line WHERE name = v_line.name;
        v_line.used := v_line.used - v_less;
        v_line.holders := v_line.holders - v_left;
        v_line.waiting := v_line.waiting - v_gone;
        PERFORM holdfast.advance(v_line, 0, '', 0, p_trail);
    END LOOP;
END $$;

-- A ticket as its owner sees it.
CREATE OR REPLACE FUNCTION holdfast.show(p_sid text, p_id bigint) RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_ret holdfast.answer;
BEGIN
    SELECT 0, t.state::text, t.seq, t.slot, t.since, t.weight, 0, t.asked INTO v_ret
    FROM holdfast.ticket t WHERE t.sid = p_sid AND t.id = p_id AND t.state <> 'b';
    IF NOT FOUND THEN
        v_ret.code := 0;
        v_ret.state := '-';
    ELSIF v_ret.state = 'w' THEN
        SELECT count(*) INTO v_ret.ahead
        FROM holdfast.ticket t JOIN holdfast.ticket a ON a.name = t.name
        WHERE t.sid = p_sid AND t.id = p_id AND a.state <> 'b' AND a.seq < t.seq;
    END IF;
    RETURN v_ret;
END $$;

-- ---- Sessions ---------------------------------------------------------------------------------

-- Open a session (p_fresh), or prove that it is there and take it over to a new connection.
-- Every layout's hello() has these arguments, so that each refuses the clients of all others.
CREATE OR REPLACE FUNCTION holdfast.hello(p_version integer, p_sid text, p_connection bigint,
                                          p_ttl bigint, p_fresh boolean, p_note text,
                                          OUT code integer, OUT version integer, OUT pid integer,
                                          OUT number bigint, OUT era text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_old   bigint;
    v_trail integer;
BEGIN
    PERFORM holdfast.check_isolation();
    SELECT head.version INTO version FROM holdfast.head;
    IF version IS DISTINCT FROM p_version THEN
        code := 7;
        RETURN;
    END IF;
    PERFORM holdfast.check_texts(p_note, '');
    PERFORM holdfast.be_sure(); -- see renew()
    pid := pg_backend_pid();
    code := 0;
    IF p_fresh THEN
        SELECT trail INTO v_trail FROM holdfast.trail FOR SHARE; -- not while set_trail() writes
        INSERT INTO holdfast.session (sid, connection, renewal, renewed, ttl, note, trail)
        VALUES (p_sid, p_connection, nextval('holdfast.renewal'), holdfast.microseconds(), p_ttl,
                p_note, v_trail)
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
        era := holdfast.era();
    END IF;
END $$;

-- Our session lives, by this number of this era.  And of those at the head of lines that we wait
-- for: how long their leases are, and since which number they are silent.
CREATE OR REPLACE FUNCTION holdfast.renew(p_sid text, p_connection bigint)
RETURNS TABLE (code integer, number bigint, ttl bigint, era text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_code   integer := 0;
    v_number bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM holdfast.refusal(p_sid, p_connection);
    END IF;
    PERFORM holdfast.be_sure(); -- whoever saw an older number would bury us too early
    -- At once by UPDATE: two that had it FOR SHARE first would wait for each other.
    UPDATE holdfast.session
    SET renewal = nextval('holdfast.renewal'), renewed = holdfast.microseconds()
    WHERE sid = p_sid AND connection = p_connection RETURNING renewal INTO v_number;
    IF NOT FOUND THEN
        v_code := holdfast.refusal(p_sid, p_connection);
    END IF;
    RETURN QUERY SELECT v_code, coalesce(v_number, 0), 0::bigint, holdfast.era();
    RETURN QUERY
        SELECT 0, min(s.renewal), s.ttl, NULL
        FROM (SELECT w.name FROM holdfast.ticket w WHERE w.sid = p_sid AND w.state = 'w'
              UNION SELECT o.name FROM holdfast.watch o WHERE o.sid = p_sid
              LIMIT 64) AS mine,
             LATERAL (SELECT h.sid FROM holdfast.ticket h
                      WHERE h.name = mine.name AND h.state <> 'b'
                      ORDER BY h.seq LIMIT 8) AS head,
             holdfast.session s
        WHERE s.sid = head.sid AND s.sid <> p_sid GROUP BY s.ttl;
    -- In the way of those who survey is everybody.
    IF EXISTS (SELECT FROM holdfast.surveyor o WHERE o.sid = p_sid) THEN
        RETURN QUERY SELECT 0, min(s.renewal), s.ttl, NULL FROM holdfast.session s
                     WHERE s.sid <> p_sid GROUP BY s.ttl;
    END IF;
END $$;

-- Tickets of ours that were granted, asked for or taken away.
CREATE OR REPLACE FUNCTION holdfast.news(p_sid text)
RETURNS TABLE (id bigint, state text, news bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
    SELECT t.id, t.state::text, t.news FROM holdfast.ticket t
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

-- For administrators: end a session and all it has, if it was not renewed since that renewal
-- (NULL: anyway).
CREATE OR REPLACE FUNCTION holdfast.bury(p_sid text, p_renewal bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_trail integer;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM holdfast.be_sure();
    DELETE FROM holdfast.session WHERE sid = p_sid AND renewal = coalesce(p_renewal, renewal)
    RETURNING trail INTO v_trail;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM holdfast.clear(ARRAY[p_sid], v_trail, 'x');
    RETURN true;
END $$;

-- The same for sessions that have been silent too long: the caller drew one of p_numbers later,
-- p_ages milliseconds ago by its own clock, and that is longer than their ttl and what clocks may
-- differ.  Never for p_sid.  How many they were: up to 500, and no more than have 1000 places
-- together, but for one session that has more alone.  A call that takes too long is given up, and
-- all it did: a caller that was answered another number than 0 calls again.
--
-- An age may be invented.  So the server's clock has to agree, if it can: a session that it saw
-- renewed within the ttl stays.  A clock that was set back keeps the dead for one more ttl at
-- most: a session that was renewed in what is now the future is left to the caller's word.
CREATE OR REPLACE FUNCTION holdfast.bury_silent(p_sid text, p_era text, p_numbers bigint[],
                                                p_ages bigint[])
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_newest bigint := (SELECT max(n) FROM unnest(p_numbers) AS n);
    v_now    bigint := holdfast.microseconds();
    v_sids   text[];
    v_trail  integer;
BEGIN
    PERFORM holdfast.check_isolation();
    IF p_era <> holdfast.era() THEN
        RETURN 0;
    END IF;
    -- Who is locked is just doing something, or being buried.
    WITH dead AS (
        SELECT s.sid, s.renewal FROM holdfast.session s
        WHERE s.renewal <= v_newest AND s.sid <> p_sid AND
            v_now - s.renewed NOT BETWEEN 0 AND s.ttl * 1000 - 1 AND EXISTS (
            SELECT FROM unnest(p_numbers, p_ages) AS drawn (number, age)
            WHERE drawn.number >= s.renewal AND drawn.age * 500 >= s.ttl * 501)
        ORDER BY s.renewal LIMIT 500 FOR UPDATE OF s SKIP LOCKED),
    counted AS (
        SELECT sid, row_number() OVER (ORDER BY renewal, sid) AS nth,
               sum((SELECT count(*) FROM holdfast.ticket t WHERE t.sid = dead.sid))
                   OVER (ORDER BY renewal, sid) AS places
        FROM dead)
    SELECT array_agg(sid) INTO v_sids FROM counted WHERE nth = 1 OR places <= 1000;
    IF v_sids IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM holdfast.be_sure();
    WITH gone AS (DELETE FROM holdfast.session WHERE sid = ANY (v_sids) RETURNING trail)
    SELECT bit_or(trail) INTO v_trail FROM gone;
    PERFORM holdfast.clear(v_sids, v_trail, 'x');
    RETURN cardinality(v_sids);
END $$;

-- Look at the next p_most lines, in the order of names, and forget those that nobody is in
-- and nobody was for a minute (or at all, if there are no sessions).  Tokens go on from the
-- highest.  How many were forgotten.
CREATE OR REPLACE FUNCTION holdfast.sweep_lines(p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_from  text;
    v_names text[];
    v_until bigint;
    v_floor bigint;
    v_count integer;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT swept INTO v_from FROM holdfast.head FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN -- somebody else is at it
        RETURN 0;
    END IF;
    v_names := ARRAY (SELECT name FROM (
        (SELECT name, 1 AS round FROM holdfast.line WHERE name > v_from
         ORDER BY name LIMIT p_most)
        UNION ALL
        (SELECT name, 2 FROM holdfast.line WHERE name <= v_from ORDER BY name LIMIT p_most)
        ) AS next ORDER BY round, name LIMIT p_most);
    v_until := CASE WHEN EXISTS (SELECT FROM holdfast.session)
                    THEN holdfast.microseconds() - 60000000 ELSE 9223372036854775807 END;
    WITH idle AS (SELECT name FROM holdfast.line
                  WHERE name = ANY (v_names) AND holders = 0 AND waiting = 0 AND
                      last < v_until AND NOT EXISTS
                      (SELECT FROM holdfast.watch WHERE watch.name = line.name)
                  FOR UPDATE SKIP LOCKED),
         gone AS (DELETE FROM holdfast.line WHERE name IN (SELECT name FROM idle)
                  RETURNING last)
    SELECT max(last), count(*) INTO v_floor, v_count FROM gone;
    UPDATE holdfast.head
    SET swept = coalesce(v_names[cardinality(v_names)], ''),
        floor = greatest(floor, v_floor);
    RETURN v_count;
END $$;

-- The same; and what is noted down is kept small, and not at all if nobody wants it any more.
CREATE OR REPLACE FUNCTION holdfast.sweep(p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_trail integer;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM set_config('synchronous_commit', 'off', true);
    IF (SELECT trail FROM holdfast.trail) > 0 THEN
        SELECT trail INTO v_trail FROM holdfast.trail FOR UPDATE SKIP LOCKED;
        IF v_trail % 2 = 1 AND NOT EXISTS (SELECT FROM holdfast.surveyor) THEN
            PERFORM holdfast.set_trail(v_trail - 1);
            DELETE FROM holdfast.change;
        END IF;
        IF v_trail >= 2 THEN
            PERFORM holdfast.number_past();
        END IF;
    END IF;
    RETURN holdfast.sweep_lines(least(p_most, 10000));
END $$;

-- The end of a session.  p_connection NULL: by its will, whatever connection it is on.  Then its
-- owner is told, should he live; and that it is gone, by this or before, is on disk when it is
-- answered.  Nobody asks for the version first: what would mean something else needs another name.
CREATE OR REPLACE FUNCTION holdfast.bye(p_sid text, p_connection bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_connection bigint;
    v_trail      integer;
BEGIN
    PERFORM holdfast.check_isolation();
    IF p_connection IS NULL THEN
        PERFORM holdfast.be_sure();
    END IF;
    SELECT connection, trail INTO v_connection, v_trail FROM holdfast.session
    WHERE sid = p_sid FOR UPDATE;
    IF v_connection IS NULL OR v_connection <> coalesce(p_connection, v_connection) THEN
        IF p_connection IS NULL THEN -- a lock: so this is a write, and all before it is on disk
            PERFORM FROM holdfast.head FOR KEY SHARE;
        END IF;
        RETURN 2;
    END IF;
    DELETE FROM holdfast.session WHERE sid = p_sid;
    PERFORM holdfast.clear(ARRAY[p_sid], v_trail,
                           CASE WHEN p_connection IS NULL THEN 'x' ELSE 'r' END);
    IF p_connection IS NULL THEN
        PERFORM holdfast.tell(p_sid, 'e');
    ELSE
        PERFORM holdfast.sweep_lines(100); -- and waits for no disk
    END IF;
    RETURN 0;
END $$;

-- ---- Places -------------------------------------------------------------------------------------

CREATE OR REPLACE FUNCTION holdfast.enter(p_sid text, p_connection bigint, p_id bigint,
                                          p_name text, p_weight bigint, p_capacity bigint,
                                          p_claim boolean, p_only_free boolean, p_limit bigint,
                                          p_note text, p_secret text)
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_trail integer;
    v_line  holdfast.line; -- as it was
    v_waits boolean;
    v_ret   holdfast.answer;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' OR
        current_setting('synchronous_commit') = 'off' OR
        current_setting('client_min_messages') = 'error' OR p_weight < 1 OR
        p_weight > p_capacity OR p_capacity > 4294967295 OR
        octet_length(p_note) > 8192 OR octet_length(p_secret) > 64 THEN
        PERFORM holdfast.check_isolation();
        PERFORM holdfast.check_shape(p_name, p_weight, p_capacity);
        PERFORM holdfast.check_texts(p_note, p_secret);
        PERFORM holdfast.be_sure(); -- a grant must not be forgotten
    END IF;
    SELECT trail INTO v_trail FROM holdfast.session
    WHERE sid = p_sid AND connection = p_connection FOR SHARE;
    IF v_trail IS NULL THEN
        v_ret.code := holdfast.refusal(p_sid, p_connection);
        RETURN v_ret;
    END IF;

    LOOP
        SELECT * INTO v_line FROM holdfast.line WHERE name = p_name FOR UPDATE;
        EXIT WHEN FOUND;
        PERFORM holdfast.make_line(p_name, p_capacity, p_claim);
    END LOOP;
    v_waits := NOT holdfast.fits(v_line.waiting, v_line.used, p_weight, p_capacity);
    IF v_line.holders + v_line.waiting > 0 AND
        (v_line.capacity <> p_capacity OR v_line.claim <> p_claim) THEN
        v_ret.code := 4;
    ELSIF v_waits AND p_only_free THEN
        v_ret.code := 0;
    ELSIF v_waits AND p_limit > 0 AND v_line.waiting >= p_limit THEN
        v_ret.code := 5;
    END IF;
    IF v_ret.code IS NOT NULL THEN
        IF EXISTS (SELECT FROM holdfast.ticket WHERE sid = p_sid AND id = p_id) THEN
            RETURN holdfast.show(p_sid, p_id); -- asked before; the answer was lost
        END IF;
        v_ret.state := 'r'; -- and one that is in the way
        v_ret.seq := (SELECT max(seq) FROM holdfast.ticket WHERE name = p_name AND state <> 'b');
        RETURN v_ret;
    END IF;

    INSERT INTO holdfast.ticket (sid, id, name, seq, weight, claim, secret, state, slot, since,
                                 news, note)
    VALUES (p_sid, p_id, p_name, greatest(v_line.last + 1, holdfast.microseconds()), p_weight,
            p_claim, p_secret, CASE WHEN v_waits THEN 'w'::"char" ELSE 'g'::"char" END,
            CASE WHEN v_waits THEN -1
                 ELSE holdfast.free_slot(p_name, p_capacity, v_line.holders) END,
            holdfast.microseconds(), 0, p_note)
    ON CONFLICT (sid, id) DO NOTHING
    RETURNING 0, state, seq, slot, since, weight,
              CASE WHEN v_waits THEN v_line.holders + v_line.waiting ELSE 0 END, NULL INTO v_ret;
    IF NOT FOUND THEN -- asked before; the answer was lost
        RETURN holdfast.show(p_sid, p_id);
    END IF;
    UPDATE holdfast.line
    SET capacity = p_capacity, claim = p_claim, changes = changes + 1, last = v_ret.seq,
        used = CASE WHEN v_waits THEN used ELSE used + p_weight END,
        holders = CASE WHEN v_waits THEN holders ELSE holders + 1 END,
        waiting = CASE WHEN v_waits THEN waiting + 1 ELSE waiting END, watched = false
    WHERE name = p_name;
    IF v_line.watched THEN
        PERFORM holdfast.tell_watchers(p_name);
    END IF;
    IF v_trail >= 2 THEN
        PERFORM holdfast.note_past(CASE WHEN v_waits THEN 'e' ELSE 'g' END, t, p_capacity)
        FROM holdfast.ticket t WHERE sid = p_sid AND id = p_id;
    END IF;
    IF v_trail % 2 = 1 THEN
        PERFORM holdfast.note_change(p_name);
    END IF;
    RETURN v_ret;
END $$;

CREATE OR REPLACE FUNCTION holdfast.leave(p_sid text, p_connection bigint, p_id bigint,
                                          p_name text, OUT code integer, OUT lost boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_void   text;
    v_trail  integer;
    v_line   holdfast.line;
    v_ticket holdfast.ticket;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM holdfast.check_isolation();
    END IF;
    -- Forgotten in a crash, it is given up again when we are back.
    v_void := set_config('synchronous_commit', 'off', true);
    code := 0;
    lost := false;
    SELECT trail INTO v_trail FROM holdfast.session
    WHERE sid = p_sid AND connection = p_connection FOR SHARE;
    IF v_trail IS NULL THEN
        code := holdfast.refusal(p_sid, p_connection);
        RETURN;
    END IF;
    SELECT * INTO v_line FROM holdfast.line WHERE name = p_name FOR UPDATE;
    DELETE FROM holdfast.ticket
    WHERE sid = p_sid AND id = p_id AND name = p_name AND state <> 'b'
    RETURNING * INTO v_ticket;
    IF FOUND AND v_line.waiting = 0 AND NOT v_line.watched AND v_trail = 0 THEN
        UPDATE holdfast.line -- nobody else has to hear of it
        SET used = used - v_ticket.weight, holders = holders - 1, changes = changes + 1
        WHERE name = p_name;
    ELSIF v_ticket.sid IS NOT NULL THEN
        PERFORM holdfast.part(v_line, v_ticket, v_trail, 'r');
    ELSE
        lost := EXISTS (SELECT FROM holdfast.ticket
                        WHERE sid = p_sid AND id = p_id AND state = 'b');
    END IF;
END $$;

CREATE OR REPLACE FUNCTION holdfast.read(p_sid text, p_connection bigint, p_id bigint)
RETURNS holdfast.answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_code integer := holdfast.refusal(p_sid, p_connection); -- a lock: so this is a write
BEGIN
    PERFORM holdfast.be_sure();
    IF v_code <> 0 THEN
        RETURN (v_code, '-', 0, -1, 0, 0, 0, NULL)::holdfast.answer;
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
    v_line   holdfast.line;
    v_trail  integer;
BEGIN
    PERFORM holdfast.be_sure();
    IF v_code <> 0 THEN
        RETURN (v_code, '-', 0, -1, 0, 0, 0, NULL)::holdfast.answer;
    END IF;
    SELECT trail INTO v_trail FROM holdfast.session WHERE sid = p_sid;
    SELECT * INTO v_line FROM holdfast.line
    WHERE name = (SELECT name FROM holdfast.ticket WHERE sid = p_sid AND id = p_id) FOR UPDATE;
    SELECT * INTO v_ticket FROM holdfast.ticket WHERE sid = p_sid AND id = p_id;
    IF v_ticket.state <> 'b' AND p_weight < v_ticket.weight THEN
        PERFORM holdfast.check_shape(v_line.name, p_weight, v_ticket.weight);
        IF v_ticket.state = 'g' THEN
            v_line.used := v_line.used - v_ticket.weight + p_weight;
        END IF;
        v_ticket.weight := p_weight;
        UPDATE holdfast.ticket SET weight = p_weight WHERE sid = p_sid AND id = p_id;
        IF v_trail >= 2 THEN
            PERFORM holdfast.note_past('d', v_ticket, v_line.capacity);
        END IF;
        PERFORM holdfast.advance(v_line, 0, p_sid, p_id, v_trail);
    END IF;
    RETURN holdfast.show(p_sid, p_id);
END $$;

-- Be told once that a line changes; unless the place p_seq has left it already, or, if that is 0,
-- it has changed since p_stamp (0: not known).
CREATE OR REPLACE FUNCTION holdfast.watch(p_sid text, p_connection bigint, p_name text,
                                          p_stamp bigint, p_seq bigint,
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
    changed := p_seq = 0 AND p_stamp <> 0 AND p_stamp <> coalesce(v_changes, 1);
    IF changed THEN
        RETURN;
    END IF;
    PERFORM holdfast.make_line(p_name, 1, false);
    IF p_seq = 0 THEN -- 1: there was no line, which is as good as an empty one
        SELECT CASE WHEN p_stamp = 1 THEN holders + waiting > 0
                    ELSE p_stamp > 1 AND p_stamp <> changes END INTO changed
        FROM holdfast.line WHERE name = p_name;
    ELSE
        changed := NOT EXISTS (SELECT FROM holdfast.ticket
                               WHERE name = p_name AND seq = p_seq AND state <> 'b');
    END IF;
    IF NOT changed THEN
        INSERT INTO holdfast.watch VALUES (p_name, p_sid) ON CONFLICT DO NOTHING;
        UPDATE holdfast.line SET watched = true WHERE name = p_name AND NOT watched;
    END IF;
END $$;

-- ---- Surveys and history --------------------------------------------------------------------------

-- Which lines have changed since the answer of that stamp?  First a row that tells: all may have
-- (unknown); or nothing has, and a message will come, which cannot be relied on yet (unsettled).
-- Then a row for each that has.  p_end: he does not survey any more.
--
-- A change is told by what is committed, not by when: by the transactions that the last answer
-- could not see yet.  Who makes one sends a message only to those who are armed.  One who read
-- that we are not may still be at work when we are.  So we come back until all have ended that
-- began before we were surely seen to be armed.
CREATE OR REPLACE FUNCTION holdfast.survey(p_sid text, p_connection bigint, p_stamp bigint,
                                           p_end integer)
RETURNS TABLE (code integer, stamp bigint, unsettled boolean, unknown boolean, name text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_me    holdfast.surveyor;
    v_new   boolean;
    v_trail integer;
    v_names text[];
    v_now   txid_snapshot;
    v_early boolean := false;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    v_new := NOT EXISTS (SELECT FROM holdfast.surveyor WHERE sid = p_sid AND stamp = p_stamp);
    IF v_new OR p_end = 1 THEN -- before any session
        SELECT trail INTO v_trail FROM holdfast.trail FOR UPDATE;
    END IF;
    code := holdfast.refusal(p_sid, p_connection);
    IF code <> 0 THEN
        RETURN QUERY SELECT code, 0::bigint, false, false, NULL::text;
        RETURN;
    END IF;
    IF v_new OR p_end = 1 THEN
        DELETE FROM holdfast.surveyor WHERE sid = p_sid;
        IF p_end = 0 THEN
            PERFORM holdfast.set_trail(v_trail | 1);
            INSERT INTO holdfast.surveyor
            VALUES (p_sid, holdfast.microseconds(), txid_current_snapshot(), false, NULL)
            RETURNING * INTO v_me;
        ELSIF v_trail % 2 = 1 AND NOT EXISTS (SELECT FROM holdfast.surveyor) THEN
            PERFORM holdfast.set_trail(v_trail - 1);
            DELETE FROM holdfast.change;
        END IF;
        RETURN QUERY SELECT 0, v_me.stamp, false, true, NULL::text;
        RETURN;
    END IF;

    SELECT * INTO v_me FROM holdfast.surveyor WHERE sid = p_sid FOR UPDATE;
    SELECT array_agg(c.name), txid_current_snapshot() INTO v_names, v_now
    FROM (SELECT name FROM holdfast.change
          WHERE NOT txid_visible_in_snapshot(xid, v_me.seen) LIMIT 1001) AS c;
    IF v_names IS NOT NULL THEN
        UPDATE holdfast.surveyor SET stamp = stamp + 1, seen = v_now, armed = false, settle = NULL
        WHERE sid = p_sid RETURNING * INTO v_me;
        PERFORM holdfast.forget_changes();
    ELSIF NOT v_me.armed THEN
        UPDATE holdfast.surveyor SET armed = true WHERE sid = p_sid;
        v_early := true;
    ELSE
        IF v_me.settle IS NULL THEN
            v_me.settle := txid_current(); -- who did not see us armed has a lower number
            UPDATE holdfast.surveyor SET settle = v_me.settle WHERE sid = p_sid;
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

-- What was told to all who survey.
CREATE OR REPLACE FUNCTION holdfast.forget_changes() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM holdfast.change LIMIT 101) AS c) > 100 THEN
        DELETE FROM holdfast.change WHERE name IN
            (SELECT name FROM holdfast.change c WHERE NOT EXISTS
                 (SELECT FROM holdfast.surveyor s WHERE NOT txid_visible_in_snapshot(c.xid, s.seen))
             FOR UPDATE SKIP LOCKED);
    END IF;
END $$;

-- Number the records that were committed since the last time, and forget those that are too old.
-- Of one line none is committed before one that comes earlier.  Our caller has locked
-- holdfast.trail.
CREATE OR REPLACE FUNCTION holdfast.number_past() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_number bigint;
    v_length bigint;
BEGIN
    SELECT number, history INTO v_number, v_length FROM holdfast.trail;
    WITH fresh AS (SELECT id, v_number + row_number() OVER (ORDER BY id) AS n
                   FROM holdfast.past WHERE number IS NULL),
         newest AS (SELECT coalesce(max(n), v_number) AS n FROM fresh),
         gone AS (DELETE FROM holdfast.past p USING newest
                  WHERE p.number <= newest.n - v_length OR p.number IS NULL AND p.id IN
                        (SELECT id FROM fresh WHERE fresh.n <= newest.n - v_length)),
         told AS (UPDATE holdfast.past p SET number = fresh.n FROM fresh, newest
                  WHERE p.id = fresh.id AND fresh.n > newest.n - v_length)
    UPDATE holdfast.trail SET number = newest.n FROM newest WHERE number <> newest.n;
END $$;

-- How much history is to be kept; 0: none, and what there is is forgotten.  Numbers go on from the
-- clock, so that they are higher than all before.
CREATE OR REPLACE FUNCTION holdfast.keep_history(p_length integer) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_trail integer;
BEGIN
    PERFORM holdfast.check_isolation();
    IF p_length NOT BETWEEN 0 AND 100000 THEN
        RAISE EXCEPTION 'no length of a history is %', p_length USING ERRCODE = '22023';
    END IF;
    SELECT trail INTO v_trail FROM holdfast.trail FOR UPDATE;
    PERFORM holdfast.set_trail(CASE WHEN p_length > 0 THEN v_trail | 2 ELSE v_trail & 1 END);
    UPDATE holdfast.trail SET history = p_length,
        number = CASE WHEN history = 0 THEN greatest(number, holdfast.microseconds())
                      ELSE number END
    WHERE history <> p_length;
    IF p_length = 0 THEN
        DELETE FROM holdfast.past;
    END IF;
END $$;

-- What happened after that number, to one line or to all (NULL): first a row with the code and the
-- number of the newest record; 6: no history is kept.
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
    SELECT history INTO v_length FROM holdfast.trail FOR UPDATE;
    IF v_length = 0 THEN
        RETURN QUERY SELECT 6, 0::bigint, 0::bigint, NULL, NULL, 0::bigint, 0::bigint, 0::bigint,
                            false, 0, NULL, NULL;
        RETURN;
    END IF;
    PERFORM holdfast.number_past();
    RETURN QUERY SELECT 0, h.number, 0::bigint, NULL, NULL, 0::bigint, 0::bigint, 0::bigint,
                        false, 0, NULL, NULL FROM holdfast.trail h;
    RETURN QUERY SELECT 0, p.number, p.time, p.what::text, p.name, p.seq, p.weight, p.capacity,
                        p.claim, p.slot, p.note, p.reason
                 FROM holdfast.past p, holdfast.trail h
                 WHERE p.number > CASE WHEN p_after > h.number THEN 0 ELSE p_after END AND
                       (p_name IS NULL OR p.name = p_name)
                 ORDER BY p.number;
END $$;

-- ---- Places of others -------------------------------------------------------------------------

-- p_by: by whom, for the history
CREATE OR REPLACE FUNCTION holdfast.break_place(p_name text, p_seq bigint, p_by text DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_line   holdfast.line;
    v_ticket holdfast.ticket;
    v_trail  integer;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM holdfast.check_texts(p_by, '');
    PERFORM holdfast.be_sure();
    SELECT trail INTO v_trail FROM holdfast.trail FOR SHARE; -- there may be no session of ours
    SELECT * INTO v_line FROM holdfast.line WHERE name = p_name FOR UPDATE;
    SELECT * INTO v_ticket FROM holdfast.ticket
    WHERE name = p_name AND seq = p_seq AND state <> 'b';
    IF NOT FOUND THEN
        RETURN 6;
    END IF;
    UPDATE holdfast.ticket SET state = 'b', news = news + 1
    WHERE sid = v_ticket.sid AND id = v_ticket.id;
    PERFORM holdfast.part(v_line, v_ticket, v_trail, 'b', p_by);
    PERFORM holdfast.tell(v_ticket.sid, 'b ' || v_ticket.id);
    RETURN 0;
END $$;

CREATE OR REPLACE FUNCTION holdfast.ask(p_name text, p_seq bigint, p_why text) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_line   holdfast.line;
    v_ticket holdfast.ticket;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM holdfast.check_texts(p_why, '');
    SELECT * INTO v_line FROM holdfast.line WHERE name = p_name FOR UPDATE;
    UPDATE holdfast.ticket SET asked = p_why, news = news + 1
    WHERE name = p_name AND seq = p_seq AND state <> 'b' RETURNING * INTO v_ticket;
    IF NOT FOUND THEN
        RETURN 6;
    END IF;
    IF (SELECT trail FROM holdfast.trail) >= 2 THEN
        PERFORM holdfast.note_past('a', v_ticket, v_line.capacity, p_why);
    END IF;
    PERFORM holdfast.tell(v_ticket.sid, 'a ' || v_ticket.id);
    RETURN 0;
END $$;

-- Does somebody hold it by that token?  To lock it is a write: a server whose standby was
-- promoted cannot say yes any more.
CREATE OR REPLACE FUNCTION holdfast.prove(p_name text, p_token bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
BEGIN
    PERFORM holdfast.be_sure();
    PERFORM FROM holdfast.ticket WHERE name = p_name AND seq = p_token AND state = 'g'
    FOR KEY SHARE;
    RETURN FOUND;
END $$;

-- Every place in one line, or in all (NULL); a first row with the stamp alone.  renewal and ttl
-- are its session's.
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
    FROM holdfast.ticket t JOIN holdfast.line l ON l.name = t.name
         LEFT JOIN holdfast.session s ON s.sid = t.sid
    WHERE t.state <> 'b' AND (p_name IS NULL OR t.name = p_name)
$$;

-- What the tickets say of each line that has any.
CREATE OR REPLACE FUNCTION holdfast.counted()
RETURNS TABLE (name text, used bigint, holders bigint, waiting bigint, claim boolean, last bigint)
LANGUAGE sql STABLE AS $$
    SELECT t.name, coalesce(sum(t.weight) FILTER (WHERE t.state = 'g'), 0)::bigint,
           count(*) FILTER (WHERE t.state = 'g'), count(*) FILTER (WHERE t.state = 'w'),
           bool_or(t.claim), max(t.seq)
    FROM holdfast.ticket t WHERE t.state <> 'b' GROUP BY t.name
$$;

-- The lines that count otherwise than their tickets do, as the tickets say.
CREATE OR REPLACE FUNCTION holdfast.miscounted()
RETURNS TABLE (name text, used bigint, holders bigint, waiting bigint, claim boolean, last bigint)
LANGUAGE sql STABLE AS $$
    SELECT coalesce(l.name, c.name), coalesce(c.used, 0), coalesce(c.holders, 0),
           coalesce(c.waiting, 0), coalesce(c.claim, false), coalesce(c.last, 0)
    FROM holdfast.line l FULL JOIN holdfast.counted() c ON c.name = l.name
    WHERE (l.used, l.holders, l.waiting) IS DISTINCT FROM
          (coalesce(c.used, 0), coalesce(c.holders, 0), coalesce(c.waiting, 0))
$$;

-- For administrators: let lines that were changed by hand count what their tickets say, and grant
-- what is free then.  A line without a row gets the capacity that is in use: others are refused
-- until all have left.  How many lines it was.
CREATE OR REPLACE FUNCTION holdfast.recount() RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_trail integer;
    v_wrong record;
    v_line  holdfast.line;
    v_count bigint := 0;
BEGIN
    PERFORM holdfast.check_isolation();
    PERFORM holdfast.be_sure();
    SELECT trail INTO v_trail FROM holdfast.trail FOR SHARE;
    FOR v_wrong IN SELECT * FROM holdfast.miscounted() ORDER BY name LOOP
        PERFORM holdfast.make_line(v_wrong.name, greatest(v_wrong.used, 1), v_wrong.claim);
        UPDATE holdfast.line l SET used = m.used, holders = m.holders, waiting = m.waiting,
            last = greatest(l.last, m.last)
        FROM holdfast.miscounted() m WHERE l.name = v_wrong.name AND m.name = l.name
        RETURNING l.* INTO v_line;
        IF FOUND THEN -- nobody was quicker
            PERFORM holdfast.advance(v_line, 0, '', 0, v_trail);
            v_count := v_count + 1;
        END IF;
    END LOOP;
    RETURN v_count;
END $$;

-- For people: how much there is in all lines, and in the one of that name; the highest token;
-- how many lines count otherwise than their tickets do.
CREATE OR REPLACE FUNCTION holdfast.look(p_name text, OUT sessions bigint, OUT holders bigint,
                                         OUT waiters bigint, OUT empty bigint,
                                         OUT name_holders bigint, OUT name_waiters bigint,
                                         OUT token bigint, OUT wrong bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
    SELECT (SELECT count(*) FROM holdfast.session),
           coalesce(sum(c.holders), 0)::bigint, coalesce(sum(c.waiting), 0)::bigint,
           (SELECT count(*) FROM holdfast.line l WHERE NOT EXISTS
               (SELECT FROM holdfast.ticket t WHERE t.name = l.name AND t.state <> 'b')),
           coalesce(sum(c.holders) FILTER (WHERE c.name = p_name), 0)::bigint,
           coalesce(sum(c.waiting) FILTER (WHERE c.name = p_name), 0)::bigint,
           greatest((SELECT max(last) FROM holdfast.line), (SELECT floor FROM holdfast.head)),
           (SELECT count(*) FROM holdfast.miscounted())
    FROM holdfast.counted() c
$$;

-- ---- For the data that a lock protects ----------------------------------------------------------

-- Call it first in a transaction that changes what the lock protects: it fails if a later
-- holder was here before, and keeps later ones out until the transaction ends.  Of those who
-- hold a lock together, as readers do, each may come whenever he still holds it.
CREATE OR REPLACE FUNCTION holdfast.fence(p_name text, p_token bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = holdfast, pg_temp AS $$
DECLARE
    v_token bigint;
BEGIN
    PERFORM holdfast.check_shape(p_name, 1, 1);
    INSERT INTO holdfast.fence AS f VALUES (p_name, p_token)
    ON CONFLICT (name) DO UPDATE SET token = greatest(f.token, p_token);
    SELECT token INTO v_token FROM holdfast.fence WHERE name = p_name;
    IF v_token > p_token AND NOT EXISTS (SELECT FROM holdfast.ticket WHERE name = p_name AND
                                         seq = p_token AND state = 'g') THEN
        RAISE EXCEPTION 'the lock "%" was ours by token %, but token % was here since',
            p_name, p_token, v_token USING ERRCODE = 'HF002',
            HINT = 'Roll back: somebody else holds the lock by now.';
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA holdfast FROM PUBLIC;
