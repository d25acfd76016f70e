#!/usr/bin/env -S python3 -B
"""functions - the SQL functions of the PostgreSQL store on a real server, compared with a model.

    test/postgres/functions.py [FOLDER] [--steps N] [--seed N] [CASE ...]

FOLDER, where programs are built, does not matter here.  See calls.py and model.py.
"""
import itertools
import random

from calls import *  # noqa: F403
from model import Model, Quiet
import pq


@case
def random_steps_do_what_the_model_does():
    seed = options.seed if options.seed is not None else random.randrange(10**6)
    print(f"# --seed {seed} --steps {options.steps}")
    for model in (Model(server(), random.Random(seed)), Quiet(server(), random.Random(seed))):
        for i in range(options.steps):
            try:
                model.step()
            except BaseException:
                print(f"# at step {i} of {type(model).__name__}, {list(model.done)[-1]} was new last")
                raise
        model.finish()


def refusal(function, *args):
    try:
        function(*args)
    except pq.Error as error:
        return error.code
    return None


def make(link):
    link.run(postgres.schema_text())


@case
def the_schema_script_may_be_run_again():
    there = space()
    a, b = sessions(there)
    token = a.enter(1, "m").seq
    b.enter(1, "m")
    a.watch("m")
    before = there.everything()
    with there.connect() as other:
        make(other)
        make(other)
    assert there.everything() == before
    assert a.read(1).seq == token and b.read(1).state == "w"
    assert a.leave(1, "m") == (0, False) and b.read(1).state == "g"
    there.drop()


@case
def a_repeated_call_counts_once():
    """Also for a place that was broken, whichever session has the lock by then."""
    there = space()
    a, b, c = sessions(there, 3)

    def counts():
        return there.link.call("SELECT used, holders, waiting FROM holdfast.line WHERE name = 'm'")[0]

    assert a.enter(1, "m").seq == a.enter(1, "m").seq and counts() == (1, 1, 0)
    assert a.outside("break_place", "m", a.read(1).seq) == [(0,)] and counts() == (0, 0, 0)
    before = there.everything()["line"][0]["changes"]
    assert a.enter(1, "m").state == "-" and counts() == (0, 0, 0)
    assert there.everything()["line"][0]["changes"] == before
    for waiter, count in ((None, (1, 1, 0)), (c, (1, 1, 1))):
        if waiter is None:
            b.enter(1, "m")
        else:
            waiter.enter(1, "m")
        assert a.enter(1, "m").state == "-" and counts() == count
        assert a.leave(1, "m") == (0, True) and counts() == count
        assert a.leave(2, "m") == (0, False) and counts() == count
    assert c.leave(1, "m") == c.leave(1, "m") == (0, False) and counts() == (1, 1, 0)
    assert b.leave(1, "m") == b.leave(1, "m") == (0, False) and counts() == (0, 0, 0)
    there.drop()


@case
def leave_needs_the_right_name_of_the_place():
    """Whatever the line of the other name is like: in use, watched, empty, or not there."""
    there = space()
    a, b, c = sessions(there, 3)
    a.enter(1, "mine"), b.enter(1, "theirs"), c.enter(1, "theirs")
    a.enter(2, "gone"), a.outside("break_place", "gone", a.read(2, "gone").seq)

    def state():
        return sorted((row["name"], row["used"], row["holders"], row["waiting"])
                      for row in there.everything()["line"]), there.everything()["every_place"]

    before = state()
    for name in ("theirs", "gone", "nowhere"):
        assert a.leave(1, name) == (0, False) and state() == before, name
    b.watch("theirs"), b.watch("mine")
    assert a.leave(1, "theirs") == (0, False) and state() == before
    assert b.leave(1, "mine") == (0, False) and state() == before
    assert a.leave(2, "theirs") == a.leave(2, "gone") == (0, True) and state() == before
    assert b.read(1, "theirs").state == "g" and c.read(1, "theirs").state == "w" and a.read(1, "mine").state == "g"
    assert a.leave(1, "mine") == (0, False) and a.read(1, "mine").state == "-"
    there.drop()


@case
def texts_that_are_too_long_are_refused():
    """They would be shown to everybody, or not fit into the message that grants a lock."""
    there = space()
    a, b = sessions(there)
    token = a.enter(1, "m", note="x" * 8192).seq
    for note, secret in (("x" * 8193, ""), ("\u20ac" * 2731, ""), ("", "x" * 65)):
        assert refusal(b.call, "enter", 1, "m", 1, 1, False, False, 0, note, secret) == "23514"
        assert refusal(b.call, "enter", 1, "free", 1, 1, False, False, 0, note, secret) == "23514"
    assert refusal(b.ask, "m", token, "x" * 8193) == "23514" and b.ask("m", token, "x" * 8192) == 0
    assert refusal(a.outside, "hello", VERSION, "0" * 16, 1, 1000, True, "x" * 8193) == "23514"
    for name in ("", "x" * 256):
        assert refusal(b.enter, 1, name) == refusal(b.watch, name) == "23514", name
        assert refusal(b.outside, "fence", name, 1) == "23514", name
    assert refusal(b.enter, 1, "big", 3, 2) == "23514", "it would wait for ever"
    assert b.enter(1, "m").state == "w" and a.leave(1, "m") == (0, False)
    assert there.messages()[-1][1].endswith(f" {SECRET}")
    there.drop()


@case
def an_invented_age_expires_no_session():
    """The server's clock has to agree; if it was set back, expiry takes one more ttl at most."""
    there = space()
    a, b = sessions(there)
    a.enter(1, "m"), b.enter(1, "m")

    def seen(ago):
        there.change("UPDATE holdfast.session SET renewed = holdfast.microseconds() - $1 * 1000::bigint "
                     "WHERE sid = $2", ago, a.sid)
        there.change("UPDATE holdfast.session SET renewed = holdfast.microseconds() WHERE sid <> $1", a.sid)

    number = b.renew()[1]
    assert b.expire_silent((number, 10**9)) == 0 and a.read(1).state == "g"
    for ago in (0, TTL // 2, TTL - 1000):
        seen(ago)
        assert b.expire_silent((number, 10**9)) == 0, ago
    for ago in (TTL, 10**9, -1000, -10**9):
        a = there.session()
        seen(ago)
        number = b.renew()[1]
        assert b.expire_silent((number, TTL)) == 0, "by the caller's clock the session is not dead"
        assert b.expire_silent((number, TTL + TTL // 500)) == 1, ago
    there.drop()


@case
def the_schema_script_may_be_rolled_back():
    there = space(schema=False)
    there.links[0].run("BEGIN")
    make(there.links[0])
    there.links[0].run("ROLLBACK")
    make(there.links[0])
    assert there.session().enter(1, "m").state == "g"
    there.drop()


@case
def idle_lines_are_deleted():
    """A few at a time, although there are sessions."""
    there = space()
    a, b = sessions(there)
    tokens = {name: a.enter(id, name).seq for id, name in
              enumerate(("idle", "new", "held", "watched", "waited"), 1)}
    for id, name in enumerate(tokens, 1):
        if name not in ("held", "waited"):
            a.leave(id, name)
    b.enter(1, "waited")
    b.watch("watched")
    minute = 60 * 10**6
    there.change("UPDATE holdfast.line SET last = last + $1 WHERE name = 'idle'", -2 * minute)
    there.change("UPDATE holdfast.line SET last = last + $1 WHERE name IN ('held', 'watched', 'waited')",
                 -minute)
    assert there.counts()["line"] == 5
    assert sum(a.sweep(1) for _ in range(5)) == 1, "however few at a time"
    there_is = there.everything()
    assert {row["name"] for row in there_is["line"]} == {"new", "held", "watched", "waited"}
    assert there_is["head"][0]["floor"] == tokens["idle"] - 2 * minute
    a.leave(4, "watched"), a.leave(3, "held"), a.leave(5, "waited")
    assert b.read(1, "waited").state == "g"
    there.change("UPDATE holdfast.line SET last = 10 WHERE name = 'new'")
    there.change("UPDATE holdfast.head SET floor = $1", 10**17)
    a.sweep()
    assert there.everything()["head"][0]["floor"] == 10**17, "the floor never falls"
    assert a.enter(9, "new").seq == 10**17 + 1
    there.drop()


@case
def a_session_has_no_more_than_1024_biased_lines():
    """What ends it, or moves it to another connection, unfolds all of them at once."""
    there = space()
    a = there.session()
    there.link.run(f"""DO $$ BEGIN FOR i IN 1..5000 LOOP
        PERFORM holdfast.enter('{a.sid}', {a.connection}, i, 'line' || i, 1, 1, false, false, 0, '', '');
        PERFORM holdfast.leave('{a.sid}', {a.connection}, i, 'line' || i);
    END LOOP; END $$""")
    biased = {row["name"] for row in there.everything()["bias"]}
    assert 900 < len(biased) <= 1024, len(biased)
    other = next(f"line{i}" for i in range(1, 5001) if f"line{i}" not in biased)
    for id, name in enumerate((min(biased), other), 6000):
        assert a.enter(id, name).state == "g" and a.leave(id, name) == (0, False), name
    assert there.counts()["bias"] == len(biased)
    there.drop()


@case
def a_line_made_during_its_deletion_continues_its_tokens():
    """Although the clock is behind these tokens."""
    there = space()
    a, b = Actor(there), Actor(there)
    with a, b:
        a.enter(1, "m")
        a.session.leave(1, "m")
        there.change("UPDATE holdfast.line SET last = $1", 10**17)
        there.change("DELETE FROM holdfast.session WHERE sid = $1", a.session.sid)
        there.change("DELETE FROM holdfast.session WHERE sid = $1", b.session.sid)
        a.begin()
        call(a.link, "sweep", 10)
        fresh = Session(there)
        assert fresh.hello()[0] == 0
        b.session = fresh
        b.start_enter(1, "m")
        assert b.is_stuck()
        a.commit()
        assert b.answer().seq == 10**17 + 1
    there.drop()


@case
def invalid_arguments_are_refused():
    """Every client would read such a row."""
    there = space()
    a = there.session()
    for sid, ttl in (("evil", 1000), ("e" * 17, 1000), ("e" * 16, 0), ("e" * 16, -1), ("e" * 16, 499),
                     ("e" * 16, 3600001), ("e" * 16, 2**62)):
        assert refusal(a.outside, "hello", VERSION, sid, 1, ttl, True, "") == "23514", (sid, ttl)
    for name, weight, capacity in (("", 1, 1), ("x" * 256, 1, 1), ("m", 0, 1), ("m", -1, 1), ("m", 2**32, 2**32),
                                   ("m", 1, 0)):
        assert refusal(a.enter, 1, name, weight, capacity) == "23514", (name, weight, capacity)
    assert refusal(a.watch, "") == refusal(a.watch, "x" * 256) == "23514"
    place = [1, "m", 1, 1, False, False, 0, "", SECRET]
    for biased, missing in itertools.product((False, True), (0, 1, 7)):
        if biased:
            assert a.enter(9, "m").state == "g" and a.leave(9, "m") == (0, False)
        assert refusal(a.call, "enter", *place[:missing], None, *place[missing + 1:]) == "23502", (biased, missing)
    for procedure, *args in (("enter", *place), ("leave", 1, "m"), ("read", 1, "m"), ("downgrade", 1, "m", 1),
                             ("watch", "m", 0, 0), ("reclaim", []), ("renew",)):
        row = call(there.link, procedure, a.sid, None, *args)[0]
        assert str(row[0]).split()[0] == "3", (procedure, row)
    assert a.enter(1, "m").state == "g"
    assert refusal(a.downgrade, 1, 0) == "23514" and a.read(1).weight == 1
    there.drop()


@case
def the_server_inlines_functions_of_one_expression():
    """So they cost no call."""
    there = space()
    plan = there.link.call("EXPLAIN (VERBOSE) SELECT holdfast.fits(waiting, used, 1, capacity), "
                           "holdfast.microseconds(), holdfast.free_slot(name, capacity, holders) FROM holdfast.line")
    text = "\n".join(row for row, in plan)
    for name in ("fits", "microseconds", "free_slot"):
        assert f"holdfast.{name}(" not in text, text
    assert "<= capacity" in text and "clock_timestamp()" in text and "lowest_slot(" in text, text
    there.drop()


@case
def a_waiter_is_found_after_its_row_was_edited():
    """Or its row was deleted, while the line still counts it."""
    there = space()
    a, b = there.session(), there.session()
    for sql, state, held in (("UPDATE holdfast.place SET seq = 1 WHERE sid = $1", "g", 1),
                             ("DELETE FROM holdfast.place WHERE sid = $1", "-", 0)):
        a.enter(1, "m")
        b.enter(1, "m")
        there.change(sql, b.sid)
        assert a.leave(1, "m") == (0, False)
        assert b.read(1).state == state
        line = there.everything()["line"][0]
        assert (line["used"], line["holders"]) == (held, held), line
        b.leave(1, "m")
    there.drop()


def functions(there):
    return there.link.call("SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'holdfast'::regnamespace "
                           "ORDER BY oid::regprocedure::text")


@case
def a_later_layout_is_not_changed():
    there = space()
    there.change("UPDATE holdfast.head SET version = $1", VERSION + 1)
    there.change("DROP FUNCTION holdfast.verify")
    before = functions(there), there.everything()
    with there.connect() as link:
        assert refusal(make, link) == "HF004"
    assert (functions(there), there.everything()) == before
    assert Session(there).hello()[:2] == (7, VERSION + 1) and there.counts()["session"] == 0
    there.drop()


def age(there):
    """Make the schema look as if an older version had made it, with objects that we do not have."""
    there.change("UPDATE holdfast.head SET version = $1", VERSION - 1)
    there.change("ALTER TABLE holdfast.place DROP COLUMN grant_secret CASCADE")
    there.change("CREATE TABLE holdfast.more AS SELECT 1 AS one")
    there.change("CREATE FUNCTION holdfast.verify(p_name text) RETURNS void LANGUAGE sql AS ''")


@case
def an_older_layout_is_replaced_once_it_has_no_sessions():
    """New tokens are above all that it gave out, and the fence table is kept."""
    there = space()
    a = there.session()
    for id, name in enumerate("mn"):
        a.enter(id, name)
        a.leave(id, name)
    there.change("UPDATE holdfast.line SET last = $1 WHERE name = 'm'", 10**17)
    a.outside("fence", "m", 10**17)
    there.change("CREATE VIEW fenced AS SELECT holdfast.fence('m', 5)::text")  # another role's view
    age(there)
    before = functions(there), there.everything()
    with there.connect() as link:
        assert refusal(make, link) == "HF004", "there is a session"
        assert (functions(there), there.everything()) == before
        there.change("DELETE FROM holdfast.session")
        make(link)
    fresh = space()
    assert functions(there) == functions(fresh)
    fresh.drop()
    assert there.link.call("SELECT version FROM holdfast.head") == [(VERSION,)]
    b = there.session()
    assert b.enter(1, "m").seq == 10**17 + 1 and b.enter(2, "new").seq == 10**17 + 1
    assert refusal(b.outside, "fence", "m", 10**17 - 1) == "HF002"
    assert refusal(there.link.call, "SELECT * FROM fenced") == "HF002"
    assert not there.link.call("SELECT FROM pg_class WHERE relname = 'more'")
    there.drop()


@case
def a_session_that_begins_during_the_replacement_is_counted_or_refused():
    there = space()
    a, b = Actor(there), Actor(there)
    with a, b:
        there.change("DELETE FROM holdfast.session")
        there.change("UPDATE holdfast.head SET version = $1", VERSION - 1)
        there.links.append(there.connect())
        old = VERSION - 1, "a" * 16, 1, 1000, True, ""
        a.begin()  # hello comes first
        assert call(a.link, "hello", *old)[0][0] == 0
        b.link.send_script(postgres.schema_text())
        assert b.is_stuck()
        a.commit()
        b.link.done(5)
        assert refusal(b.link.result) == "HF004"
        a.link.call("SELECT holdfast.bye($1, NULL)", "a" * 16)
        b.begin()  # hello comes last
        make(b.link)
        a.start_outside("hello", *old)
        assert a.is_stuck()
        b.commit()
        try:
            answer = a.row()[:2]
        except pq.Error as error:
            answer = error.code
        # XX000: the function was replaced while it ran; the client asks again.
        assert answer in ((7, VERSION), "XX000"), answer
        assert there.counts()["session"] == 0
    there.drop()


@case
def recount_corrects_wrong_totals():
    there = space()
    a, b, c = sessions(there, 3)
    a.enter(1, "m"), b.enter(1, "m"), c.enter(1, "m")
    a.enter(2, "s", 2, 5), b.enter(2, "s", 2, 5), c.enter(2, "s", 2, 5)
    a.watch("lost"), a.enter(3, "lost"), b.enter(3, "right")  # a holder of a watched line has a row
    right = {row["name"]: [row[key] for key in ("used", "holders", "waiting")] for row in there.everything()["line"]}
    assert there.link.call("SELECT holdfast.recount()") == [(0,)]
    there.change("UPDATE holdfast.line SET used = 0, holders = -1, waiting = 7 WHERE name = 'm'")
    there.change("UPDATE holdfast.line SET used = 5, last = 1 WHERE name = 's'")
    there.change("DELETE FROM holdfast.line WHERE name = 'lost'")
    there.change("INSERT INTO holdfast.line VALUES ('empty', 1, false, 1, 1, 0, 1, 1)")
    assert there.link.call("SELECT wrong FROM holdfast.overview(NULL)") == [(4,)]
    assert there.link.call("SELECT holdfast.recount()") == [(4,)]
    lines = {row["name"]: row for row in there.everything()["line"]}
    assert {name: [row[key] for key in ("used", "holders", "waiting")] for name, row in lines.items()} == \
        right | {"empty": [0, 0, 0]}
    assert lines["s"]["last"] == c.read(2, "s").seq and b.enter(9, "lost").state == "w"
    there.messages()
    there.change("DELETE FROM holdfast.place WHERE sid = $1", a.sid)  # its locks are free
    assert there.link.call("SELECT holdfast.recount()") == [(3,)]
    assert (b.read(1).state, c.read(1).state, c.read(2, "s").state, b.read(9, "lost").state) == ("g", "w", "g", "g")
    assert sorted(there.messages()) == sorted([(b.sid, "n 1"), (c.sid, "n 2"), (b.sid, "n 9")])
    there.drop()


@case
def a_schema_of_another_role_is_not_changed():
    """A trigger of theirs, for instance, would run with our rights."""
    server().sql("CREATE ROLE mallory")
    for prepare in ("CREATE SCHEMA holdfast AUTHORIZATION mallory",
                    f"CREATE SCHEMA holdfast AUTHORIZATION {postgres.USER}; SET ROLE {postgres.USER}; "
                    "GRANT ALL ON SCHEMA holdfast TO mallory; SET ROLE mallory; "
                    "CREATE TABLE holdfast.head (version integer, floor bigint)",
                    f"CREATE SCHEMA holdfast AUTHORIZATION {postgres.USER}; SET ROLE {postgres.USER}; "
                    "GRANT ALL ON SCHEMA holdfast TO mallory; SET ROLE mallory; "
                    "CREATE FUNCTION holdfast.hello() RETURNS integer LANGUAGE sql AS 'SELECT 1'"):
        there = space(schema=False)
        server().sql(prepare, there.database)
        with there.connect() as link:
            assert refusal(make, link) == "HF003", prepare
        assert len(server().sql("SELECT FROM pg_class WHERE relnamespace = 'holdfast'::regnamespace",
                                there.database)) <= 1
        with there.server.connect(there.database) as admin:
            assert refusal(make, admin) == "HF003", "as a superuser"
        there.drop()
    server().sql("DROP ROLE mallory")


@case
def other_roles_have_no_rights():
    there = space()
    there.session().enter(1, "m")
    server().sql("CREATE ROLE stranger LOGIN")
    with server().connect(there.database, "stranger") as link:
        assert refusal(link.call, "SELECT * FROM holdfast.list(NULL)") == "42501"
        there.change("GRANT USAGE ON SCHEMA holdfast TO stranger")
        functions = there.link.call("SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = "
                                    "'holdfast'::regnamespace AND NOT has_function_privilege("
                                    "'stranger', oid, 'EXECUTE')")
        assert {name for name, in functions} > {*NAMES, "fence", "remove_place", "grant_waiters"}, functions
        for table in ("session", "line", "place", "watch", "head", "fence"):
            assert refusal(link.call, f"SELECT FROM holdfast.{table}") == "42501", table
        there.change("GRANT EXECUTE ON FUNCTION holdfast.list TO stranger")
        assert len(call(link, "list", "m")) == 2
        for name in ("break_place", "expire"):
            assert refusal(call, link, name, "m", 1) == "42501", name


@case
def functions_of_other_roles_are_never_called():
    """Functions run with their owner's rights, so a search path must not redirect names."""
    there = space()
    a = there.session()
    server().sql("CREATE ROLE crook LOGIN")
    server().sql("CREATE SCHEMA mine AUTHORIZATION crook; GRANT USAGE ON SCHEMA mine TO PUBLIC",
                 there.database)
    there.change("GRANT USAGE ON SCHEMA holdfast TO crook")
    there.change("GRANT EXECUTE ON FUNCTION holdfast.enter, holdfast.leave TO crook")
    enter, leave = "SELECT holdfast.enter($1, 1, $2, $3, 1, 1, false, false, 0, '', '')", \
        "SELECT holdfast.leave($1, 1, $2, $3)"
    with server().connect(there.database, "crook") as link:
        shadow_everything(link)
        link.run("CREATE TEMP TABLE line (name text); CREATE TEMP TABLE place (name text)")
        for path in ("mine, pg_temp, pg_catalog", "pg_temp, mine", "mine"):
            link.run(f"SET search_path = {path}")
            for id in range(8):  # the first way, the quick one, and with kept plans
                assert link.call(enter, a.sid, id, path)[0][0][:3] == "0 g"
                assert link.call(leave, a.sid, id, path) == [("0 0",)]
            assert link.call(leave, a.sid, 99, path) == [("0 0",)], "no such place"
    assert there.counts()["bias"] == 3, "they were quick"
    with server().connect(there.database, "crook") as link:  # the traps work
        link.run("SET search_path = mine, pg_catalog")
        for trapped in ("1::bigint = 1::bigint", "'a' || 'b'", "current_setting('port')", "1::bigint + 1"):
            assert refusal(link.call, f"SELECT {trapped}") == "P0001", trapped
    there.drop()


def shadow_everything(link):
    """In schema mine: every operator and function of pg_catalog for the types that enter() and leave() use, and the
    types themselves."""
    link.run("CREATE FUNCTION mine.caught() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'caught'; END $$")
    types = "('bool', 'int2', 'int4', 'int8', 'float8', 'text', 'unknown', 'timestamptz', 'name')"
    operators = link.call(
        "SELECT oprname::text, l.typname::text, r.typname::text, t.typname::text FROM pg_operator o "
        "JOIN pg_type l ON l.oid = oprleft JOIN pg_type r ON r.oid = oprright JOIN pg_type t ON t.oid = oprresult "
        f"WHERE oprnamespace = 'pg_catalog'::regnamespace AND l.typname IN {types} AND r.typname IN {types}")
    assert len(operators) > 100
    for i, (name, left, right, result) in enumerate(operators):
        link.run(f"CREATE FUNCTION mine.o{i}(pg_catalog.{left}, pg_catalog.{right}) RETURNS pg_catalog.{result} "
                 "LANGUAGE plpgsql AS $$ BEGIN PERFORM mine.caught(); END $$; "
                 f"CREATE OPERATOR mine.{name} (FUNCTION = mine.o{i}, LEFTARG = pg_catalog.{left}, "
                 f"RIGHTARG = pg_catalog.{right})")
    for function in ("pg_notify(text, text)", "clock_timestamp()", "set_config(text, text, boolean)",
                     "microseconds()", "current_setting(text)", "date_part(text, timestamptz)",
                     "octet_length(text)", 'concat(VARIADIC "any")'.replace('"any"', "text[]"),
                     "int8(float8)", "text(bigint)"):
        link.run(f"CREATE FUNCTION mine.{function} RETURNS text LANGUAGE plpgsql AS "
                 "$$ BEGIN PERFORM mine.caught(); END $$")
    for name in ("text", "int8", "bool"):
        link.run(f"CREATE DOMAIN mine.{name} AS pg_catalog.{name} CHECK (mine.caught() IS NOT NULL)")


def add_options(parser):
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int)


main(add_options)
