#!/usr/bin/env -S python3 -B
"""schema - the SQL of the PostgreSQL store on a real server, beside a model of it.

    test/postgres/schema.py [FOLDER] [--steps N] [--seed N] [CASE ...]

FOLDER, where programs are built, does not matter here.  See lines.py and model.py.
"""
import random

from cases import *  # noqa: F403
from lines import NAMES, VERSION, call
from model import Model
import pq


@case
def random_steps_do_what_the_model_does():
    seed = options.seed if options.seed is not None else random.randrange(10**6)
    print(f"# --seed {seed} --steps {options.steps}")
    model = Model(server(), random.Random(seed))
    for i in range(options.steps):
        try:
            model.step()
        except BaseException:
            print(f"# at step {i}, {list(model.done)[-1]} was new last")
            raise
    model.finish()


def refusal(function, *args):
    try:
        function(*args)
    except pq.Error as error:
        return error.code
    return None


def make(link):
    link.run(postgres.SCHEMA.read_text())


@case
def it_may_be_run_again():
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
def what_is_said_again_counts_once():
    """Of a place that was taken away, too, whoever has the lock by then."""
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
def it_makes_older_tables_new():
    """Which had what is checked by functions now."""
    there = space()
    a = there.session()
    there.change("ALTER TABLE holdfast.line ADD CHECK (octet_length(name) BETWEEN 1 AND 255), "
                 "ADD CONSTRAINT \"line_Capacity\" CHECK (capacity BETWEEN 1 AND 4294967295)")
    there.change("ALTER TABLE holdfast.ticket ADD CHECK (weight BETWEEN 1 AND 4294967295)")
    a.enter(1, "m")
    before = there.everything()
    with there.connect() as other:
        make(other)
    assert there.link.call("SELECT count(*) FROM pg_constraint WHERE contype = 'c' AND conrelid IN "
                           "('holdfast.line'::regclass, 'holdfast.ticket'::regclass)") == [(0,)]
    assert there.everything() == before and a.leave(1, "m") == (0, False)
    there.drop()


@case
def it_may_be_run_in_a_transaction_that_fails():
    there = space(schema=False)
    there.links[0].run("BEGIN")
    make(there.links[0])
    there.links[0].run("ROLLBACK")
    make(there.links[0])
    assert there.session().enter(1, "m").state == "g"
    there.drop()


@case
def idle_lines_are_forgotten():
    """In pieces, though there are sessions."""
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
    assert sum(a.sweep(1) for _ in range(5)) == 1, "however small the pieces are"
    there_is = there.everything()
    assert {row["name"] for row in there_is["line"]} == {"new", "held", "watched", "waited"}
    assert there_is["head"][0]["floor"] == tokens["idle"] - 2 * minute
    a.leave(4, "watched"), a.leave(3, "held"), a.leave(5, "waited")
    assert b.read(1).state == "g"
    there.change("UPDATE holdfast.line SET last = 10 WHERE name = 'new'")
    there.change("UPDATE holdfast.head SET floor = $1", 10**17)
    a.sweep()
    assert there.everything()["head"][0]["floor"] == 10**17, "it never falls"
    assert a.enter(9, "new").seq == 10**17 + 1
    there.drop()


@case
def a_line_made_while_it_is_forgotten_knows_its_tokens():
    """Though the clock is behind them."""
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
def nonsense_is_refused():
    """One row would be read by every client."""
    there = space()
    a = there.session()
    for sid, ttl in (("evil", 1000), ("e" * 17, 1000), ("e" * 16, 0), ("e" * 16, -1), ("e" * 16, 499),
                     ("e" * 16, 3600001), ("e" * 16, 2**62)):
        assert refusal(a.outside, "hello", VERSION, sid, 1, ttl, True, "") == "23514", (sid, ttl)
    for name, weight, capacity in (("", 1, 1), ("x" * 256, 1, 1), ("m", 0, 1), ("m", -1, 1), ("m", 2**32, 2**32),
                                   ("m", 1, 0)):
        assert refusal(a.enter, 1, name, weight, capacity) == "23514", (name, weight, capacity)
    assert refusal(a.watch, "") == refusal(a.watch, "x" * 256) == "23514"
    assert a.enter(1, "m").state == "g"
    assert refusal(a.amend, 1, 0) == "23514" and a.read(1).weight == 1
    there.drop()


@case
def who_waits_is_found_wherever_he_stands():
    """Somebody has edited a row; or there is none, though the line counts one."""
    there = space()
    a, b = there.session(), there.session()
    for sql, state, held in (("UPDATE holdfast.ticket SET seq = 1 WHERE sid = $1", "g", 1),
                             ("DELETE FROM holdfast.ticket WHERE sid = $1", "-", 0)):
        a.enter(1, "m")
        b.enter(1, "m")
        there.change(sql, b.sid)
        assert a.leave(1, "m") == (0, False)
        assert b.read(1).state == state
        line = there.everything()["line"][0]
        assert (line["used"], line["holders"]) == (held, held), line
        b.leave(1, "m")
    there.drop()


@case
def another_version_is_left_alone():
    for version, age in ((VERSION - 1, "older"), (VERSION + 1, "later")):
        there = space()
        there.change("UPDATE holdfast.head SET version = $1", version)
        there.change("CREATE OR REPLACE FUNCTION holdfast.prove(p_name text, p_token bigint) RETURNS "
                     f"boolean LANGUAGE sql AS 'SELECT false /* {age} */'")
        with there.connect() as link:
            assert refusal(make, link) == "HF004"
        assert age in there.link.call("SELECT prosrc FROM pg_proc WHERE proname = 'prove'")[0][0]
        session = Session(there)
        assert session.hello()[:2] == (7, version) and there.counts()["session"] == 0
        there.drop()


@case
def what_belongs_to_others_is_left_alone():
    """It would be run with our rights: a trigger, say."""
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
            assert refusal(make, admin) == "HF003", "by a superuser"
        there.drop()
    server().sql("DROP ROLE mallory")


@case
def a_watcher_of_a_line_that_is_just_forgotten_is_told():
    there = space()
    a, b = sessions(there)
    assert b.watch("m") == (0, False)
    there.change("DELETE FROM holdfast.line")
    there.messages()
    a.enter(1, "m")
    assert there.messages() == [(b.sid, "c m")]
    there.drop()


@case
def others_may_do_nothing_with_it():
    there = space()
    there.session().enter(1, "m")
    server().sql("CREATE ROLE stranger LOGIN")
    with server().connect(there.database, "stranger") as link:
        assert refusal(link.call, "SELECT * FROM holdfast.list(NULL)") == "42501"
        there.change("GRANT USAGE ON SCHEMA holdfast TO stranger")
        functions = there.link.call("SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = "
                                    "'holdfast'::regnamespace AND NOT has_function_privilege("
                                    "'stranger', oid, 'EXECUTE')")
        assert {name for name, in functions} > {*NAMES, "fence", "part", "advance"}, functions
        for table in ("session", "line", "ticket", "watch", "head", "fence"):
            assert refusal(link.call, f"SELECT FROM holdfast.{table}") == "42501", table
        there.change("GRANT EXECUTE ON FUNCTION holdfast.list TO stranger")
        assert len(call(link, "list", "m")) == 2
        for name in ("break_place", "bury"):
            assert refusal(call, link, name, "m", 1) == "42501", name


@case
def nobodys_functions_are_called_instead():
    """Functions run with their owner's rights: names must not lead elsewhere."""
    there = space()
    a = there.session()
    server().sql("CREATE ROLE crook LOGIN")
    server().sql("CREATE SCHEMA mine AUTHORIZATION crook; GRANT USAGE ON SCHEMA mine TO PUBLIC",
                 there.database)
    there.change("GRANT USAGE ON SCHEMA holdfast TO crook")
    there.change("GRANT EXECUTE ON FUNCTION holdfast.enter, holdfast.leave TO crook")
    with server().connect(there.database, "crook") as link:
        for function in ("pg_notify(text, text)", "greatest(bigint, bigint)", "clock_timestamp()",
                         "set_config(text, text, boolean)", "microseconds()",
                         "current_setting(text)"):
            link.call(f"CREATE FUNCTION mine.{function} RETURNS text LANGUAGE plpgsql AS "
                      "$$ BEGIN RAISE EXCEPTION 'caught'; END $$")
        link.run("CREATE TEMP TABLE line (name text); CREATE TEMP TABLE ticket (name text)")
        link.run("SET search_path = mine, pg_temp, pg_catalog")
        assert call(link, "enter", a.sid, 1, 1, "m", 1, 1, False, False, 0, "", "")[0][1] == "g"
        assert call(link, "leave", a.sid, 1, 1, "m")[0] == (0, False)


def add_options(parser):
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int)


main(add_options)
