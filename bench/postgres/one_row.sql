-- one_row.sql - the layout that was not taken: a whole line in one row of arrays.
--
-- For bench/postgres.py alone, which measures it beside src/store/postgres/schema.sql.  It
-- does what enter and leave do there, in as few statements as it can be done: the same check
-- of the session, order, tokens, repeatable for the same ticket, messages, commits.  Slots,
-- claims' limits and whatever is rare are left out, to its advantage.
DROP SCHEMA IF EXISTS one_row CASCADE;
CREATE SCHEMA one_row;

CREATE TABLE one_row.session (
    sid        text   PRIMARY KEY,
    connection bigint NOT NULL
) WITH (fillfactor = 50);

-- The first `holders` are granted: the order is kept, so they are always the first ones.
CREATE TABLE one_row.line (
    name     text     PRIMARY KEY,
    capacity bigint   NOT NULL,
    claim    boolean  NOT NULL,
    used     bigint   NOT NULL,
    holders  integer  NOT NULL,
    last     bigint   NOT NULL,
    changes  bigint   NOT NULL,
    seqs     bigint[] NOT NULL,
    ids      bigint[] NOT NULL,
    weights  bigint[] NOT NULL,
    sinces   bigint[] NOT NULL,
    news     bigint[] NOT NULL,
    sids     text[]   NOT NULL,
    asked    text[]   NOT NULL,
    notes    text[]   NOT NULL
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- Compressed, a line of 1,000 would be eight times as slow.
ALTER TABLE one_row.line
    ALTER seqs SET STORAGE EXTERNAL, ALTER ids SET STORAGE EXTERNAL,
    ALTER weights SET STORAGE EXTERNAL, ALTER sinces SET STORAGE EXTERNAL,
    ALTER news SET STORAGE EXTERNAL, ALTER sids SET STORAGE EXTERNAL,
    ALTER asked SET STORAGE EXTERNAL, ALTER notes SET STORAGE EXTERNAL;

CREATE FUNCTION one_row.open(p_sid text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO one_row.session VALUES (p_sid, 1)
$$;

CREATE FUNCTION one_row.enter(p_sid text, p_connection bigint, p_id bigint, p_name text,
                              p_weight bigint, p_capacity bigint, p_claim boolean,
                              p_only_free boolean, p_limit bigint, p_note text,
                              OUT code integer, OUT state text, OUT stamp bigint,
                              OUT seq bigint, OUT since bigint, OUT ahead bigint,
                              OUT nearest bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = one_row, pg_temp AS $$
DECLARE
    v_line one_row.line;
    v_size integer;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'holdfast needs transactions that are read committed';
    END IF;
    since := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    INSERT INTO one_row.line AS l
    SELECT p_name, p_capacity, p_claim, p_weight, 1, since, 1, ARRAY[since], ARRAY[p_id],
           ARRAY[p_weight], ARRAY[since], ARRAY[0::bigint], ARRAY[p_sid], ARRAY[NULL::text],
           ARRAY[p_note]
    FROM one_row.session s WHERE s.sid = p_sid AND s.connection = p_connection FOR SHARE
    ON CONFLICT (name) DO UPDATE SET
        capacity = p_capacity, claim = p_claim,
        used = l.used + CASE WHEN l.holders = cardinality(l.seqs) AND
                                  l.used + p_weight <= p_capacity THEN p_weight ELSE 0 END,
        holders = l.holders + CASE WHEN l.holders = cardinality(l.seqs) AND
                                        l.used + p_weight <= p_capacity THEN 1 ELSE 0 END,
        last = greatest(l.last + 1, since), changes = l.changes + 1,
        seqs = l.seqs || greatest(l.last + 1, since), ids = l.ids || p_id,
        weights = l.weights || p_weight, sinces = l.sinces || since,
        news = l.news || 0::bigint, sids = l.sids || p_sid, asked = l.asked || NULL::text,
        notes = l.notes || p_note
    WHERE (cardinality(l.seqs) = 0 OR l.capacity = p_capacity AND l.claim = p_claim)
          AND (array_position(l.ids, p_id) IS NULL OR NOT EXISTS (
                  SELECT FROM unnest(l.sids, l.ids) AS t(a, b) WHERE a = p_sid AND b = p_id))
          AND (NOT p_only_free OR l.used + p_weight <= p_capacity)
    RETURNING * INTO v_line;
    IF NOT FOUND THEN -- for one of many reasons, to be found out by another statement
        code := 2;
        RETURN;
    END IF;
    v_size := cardinality(v_line.seqs);
    code := 0;
    state := CASE WHEN v_size <= v_line.holders THEN 'g' ELSE 'w' END;
    stamp := v_line.changes;
    seq := v_line.last;
    ahead := v_size - 1;
    nearest := v_line.seqs[v_size - 1];
END $$;

-- Knows the line's name, which the other layout finds out by itself.
CREATE FUNCTION one_row.leave(p_sid text, p_connection bigint, p_id bigint, p_name text,
                              OUT code integer, OUT lost boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = one_row, pg_temp AS $$
DECLARE
    l   one_row.line;
    k   integer;
    now bigint;
BEGIN
    code := 2;
    lost := true;
    SELECT 0 INTO code FROM one_row.session s
    WHERE s.sid = p_sid AND s.connection = p_connection FOR SHARE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO l FROM one_row.line WHERE name = p_name FOR UPDATE;
    k := array_position(l.ids, p_id);
    WHILE l.sids[k] <> p_sid LOOP
        k := array_position(l.ids, p_id, k + 1);
    END LOOP;
    IF k IS NULL THEN
        RETURN;
    END IF;
    lost := false;
    PERFORM set_config('synchronous_commit', 'off', true);
    IF k <= l.holders THEN
        l.used := l.used - l.weights[k];
        l.holders := l.holders - 1;
    END IF;
    IF cardinality(l.seqs) = 1 THEN
        UPDATE one_row.line
        SET used = 0, holders = 0, changes = changes + 1, seqs = '{}', ids = '{}',
            weights = '{}', sinces = '{}', news = '{}', sids = '{}', asked = '{}', notes = '{}'
        WHERE name = p_name;
        RETURN;
    END IF;
    l.weights := l.weights[:k - 1] || l.weights[k + 1:];
    l.sinces := l.sinces[:k - 1] || l.sinces[k + 1:];
    l.news := l.news[:k - 1] || l.news[k + 1:];
    l.sids := l.sids[:k - 1] || l.sids[k + 1:];
    l.ids := l.ids[:k - 1] || l.ids[k + 1:];
    WHILE l.holders < cardinality(l.weights) AND l.used + l.weights[l.holders + 1] <= l.capacity
    LOOP
        l.holders := l.holders + 1;
        l.used := l.used + l.weights[l.holders];
        now := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
        l.sinces[l.holders] := now;
        l.news[l.holders] := l.news[l.holders] + 1;
        PERFORM pg_notify('hf_' || l.sids[l.holders],
                          format('g %s -1 %s', l.ids[l.holders], now));
    END LOOP;
    UPDATE one_row.line
    SET used = l.used, holders = l.holders, changes = changes + 1,
        seqs = seqs[:k - 1] || seqs[k + 1:], ids = l.ids, weights = l.weights,
        sinces = l.sinces, news = l.news, sids = l.sids,
        asked = asked[:k - 1] || asked[k + 1:], notes = notes[:k - 1] || notes[k + 1:]
    WHERE name = p_name;
END $$;
