#!/usr/bin/env -S python3 -B
"""init - who may make the schema, and which rights a role needs to use it."""
import contextlib
import json
import os
import re
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import postgres  # noqa: E402
import pq  # noqa: E402

SOURCE = ROOT / "src/store/postgres"
server = None


def sql(t, *args):
    done = t.run("init", "--print", *args, "--url", "postgres:")
    t.equal((done.code, done.err), (0, ""))
    return done.out


@contextlib.contextmanager
def database(t, name, owner=postgres.ADMIN):
    """A database in which our user may not make a schema, unless it is the owner."""
    server.sql(f'CREATE DATABASE "{name}" OWNER {owner}', "postgres")
    t.env["HOLDFAST_URL"] = url = server.url_of(name) + "?ttl=4s"
    try:
        yield url
        t.equal(t.list() if server.sql("SELECT FROM pg_namespace WHERE nspname = 'holdfast'", name) else [],
                [], "locks left")
    finally:
        server.dropdb(name)
        t.env["HOLDFAST_URL"] = f"sqlite:{t.folder}/locks.db"


def refused(t, database, text):
    with server.connect(database, postgres.USER) as link:
        try:
            link.run(text)
        except pq.Error as error:
            t.equal(error.code, "42501", text)
            return
    raise hf.Failure(f"it was let through: {text}")


@case
def a_role_that_may_create_schemas_makes_it(t):
    with database(t, "own", postgres.USER):
        for _ in range(2):
            done = t.run("init")
            t.equal((done.code, done.err), (0, ""))
            t.contains(done.out, " is ready for use\n")
            t.equal(server.sql("SELECT version FROM holdfast.head", "own"), [(postgres.version(),)])
            t.equal(server.sql("SELECT count(*) FROM holdfast.session", "own"), [(0,)], "sessions left")


@case
def psql_makes_it_in_one_transaction_or_in_none(t):
    for number, (args, fine) in enumerate((([], True), (["-1"], True), ([], False))):
        with database(t, f"typed{number}"):
            url = server.admin_url(f"typed{number}")
            text = sql(t, "--grant", postgres.USER)
            if not fine:
                text = text.replace("CREATE TABLE IF NOT EXISTS holdfast.fence (", "CREATE TABEL holdfast.fence (")
            done = subprocess.run(["psql", "-Xq", *args, url], input=text, capture_output=True, text=True, check=False)
            t.equal(bool(done.stderr), not fine, done.stderr)
            t.equal(t.run("run", "a", "--", "true").code, 0 if fine else 69)
            t.equal(len(server.sql("SELECT FROM pg_namespace WHERE nspname = 'holdfast'", f"typed{number}")), fine)


@case
def a_role_that_may_not_is_told_what_to_do(t):
    with database(t, "poor"):
        for args in (["init"], ["run", "a", "--", "true"]):
            done = t.run(*args)
            t.equal((done.code, done.out), (69, ""), args)
            t.one_line(done.err)
            t.contains(done.err, "`holdfast init --print --grant ROLE --url postgres:`")


@case
def a_role_without_rights_is_refused(t):
    with database(t, "closed") as url:
        server.sql(sql(t), "closed")
        done = t.run("init")
        t.equal((done.code, done.out), (69, ""))
        t.one_line(done.err)
        t.contains(done.err, "permission")
        t.contains(done.err, "`holdfast init --print --grant ROLE --url postgres:`")
        t.env["HOLDFAST_URL"] = url.replace(f"{postgres.USER}:{postgres.PASSWORD}",
                                            f"{postgres.ADMIN}:{postgres.ADMIN_PASSWORD}")


def use_everything(t):
    """Call each function of the schema at least once.  The right to break locks is not granted."""
    for kind in ([], ["-s"], ["-x"], ["--slots", "2"], ["--claim"]):
        t.equal(t.run("run", *kind, f"a{len(kind)}{''.join(kind)}", "--", "true").code, 0, f"run {kind}")
    holder, claim = t.hold("job"), t.hold("claim", "--claim", script="trap 'exit 0' TERM; sleep 1000")
    waiter = t.start("run", "job", "--", "true")
    t.waiting("job", 1)
    watcher = t.start("watch", "job")
    t.equal([lock["name"] for lock in t.list()], ["claim", "job"])
    token = t.show("job")["holders"][0]["token"]
    t.equal(t.run("check", "job", "--token", token).code, 0, "check")
    t.equal(t.run("ask", "job").code, 0, "ask")
    done = t.run("break", "-y", "job")
    t.equal((done.code, done.out), (69, ""), done.err)
    t.contains(done.err, "permission denied for function break_place")
    server.sql(f"GRANT EXECUTE ON FUNCTION holdfast.break_place TO {postgres.USER}", "least")
    t.equal(t.run("break", "-y", "job").code, 0, "break")
    t.equal(t.finish(holder).code, 79, "the holder's status")
    t.equal(t.finish(waiter).code, 0, "the next one's status")
    t.end(watcher)
    t.end(claim)
    dead = t.hold("dead")
    os.kill(dead.pid, 9)
    t.equal(t.finish(t.start("run", "-w", "30", "dead", "--", "true")).code, 0, "after a dead holder")
    dead.wait()
    done = t.run("doctor", "--json", "job")
    t.equal((done.code, done.err), (0, ""))
    t.equal([finding for finding in json.loads(done.out) if finding["level"] != "ok"], [])


LATER, EARLIER = postgres.version() + 1, postgres.version() - 1
HAIL = "ALTER FUNCTION holdfast.hello RENAME TO hail"
ALIVE = ("INSERT INTO holdfast.session (sid, connection, renewal, renewed, ttl, note, log) "
         "VALUES ('0123456789abcdef', 1, 1, 1, 1000, '', 0)")


def both_versions(version):
    return f'schema "holdfast" of another version than ours: it is of version {version}, ours of {postgres.version()}'


@case
def another_version_is_named_and_not_changed(t):
    for version, change in ((LATER, "SELECT 1"), (LATER, HAIL), (EARLIER, ALIVE), (EARLIER, f"{ALIVE}; {HAIL}")):
        with database(t, "other", postgres.USER):
            t.equal(t.run("init").code, 0)
            server.sql(f"UPDATE holdfast.head SET version = {version}; DROP FUNCTION holdfast.verify; {change}",
                       "other")
            for args in (["init"], ["run", "-w", "9", "a", "--", "true"]):
                done = t.run(*args)
                t.equal((done.code, done.out), (64, ""), f"{args} of {version}, {change}: {done.err}")
                t.one_line(done.err)
                t.contains(done.err, both_versions(version))
                if version == EARLIER:
                    t.contains(done.err, "and it has 1 sessions: SELECT * FROM holdfast.session")
            t.equal(server.sql("SELECT FROM pg_proc WHERE proname = 'verify'", "other"), [])
            t.equal(server.sql("SELECT count(*) FROM holdfast.session", "other"), [(1 if version == EARLIER else 0,)])
            server.sql("DROP SCHEMA holdfast CASCADE", "other")
        with database(t, "others"):  # the same for a role that may only use it
            server.sql(sql(t, "--grant", postgres.USER), "others")
            server.sql(f"UPDATE holdfast.head SET version = {version}; {change}", "others")
            done = t.run("run", "-w", "9", "a", "--", "true")
            t.true(done.code in (64, 69) and done.out == "", done.err)
            t.contains(done.err, "version")
            server.sql("DROP SCHEMA holdfast CASCADE", "others")


@case
def only_its_owner_replaces_an_older_version(t):
    for change in ("SELECT 1", HAIL):
        with database(t, "replaced", postgres.USER):
            t.equal(t.run("init").code, 0)
            server.sql(f"UPDATE holdfast.head SET version = {EARLIER}; {change}", "replaced")
            t.equal(t.run("run", "a", "--", "true").code, 0, "run")
            t.equal(server.sql("SELECT version FROM holdfast.head", "replaced"), [(postgres.version(),)])
        with database(t, "kept"):
            server.sql(sql(t, "--grant", postgres.USER), "kept")
            server.sql(f"UPDATE holdfast.head SET version = {EARLIER}; {change}", "kept")
            done = t.run("run", "-w", "9", "a", "--", "true")
            t.equal((done.code, done.out), (69, ""), done.err)
            t.contains(done.err, 'not of our version, and we may not change it: it, or something in it, belongs to "postgres"')
            server.sql(sql(t, "--grant", postgres.USER), "kept")  # the owner replaces it
            t.equal(t.run("run", "a", "--", "true").code, 0, "run")


TROJAN = """
    CREATE SCHEMA holdfast AUTHORIZATION mallory;
    SET ROLE mallory;
    CREATE FUNCTION holdfast.become() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
            ALTER ROLE mallory SUPERUSER;
        END IF;
    END $$;
    CREATE FUNCTION holdfast.trap() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM holdfast.become();
        RETURN new;
    END $$;
"""
TABLE = """
    CREATE TABLE holdfast.head (one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL,
                                floor bigint NOT NULL, swept text NOT NULL);
    CREATE TRIGGER trap BEFORE INSERT ON holdfast.head FOR EACH STATEMENT EXECUTE FUNCTION holdfast.trap();
"""
HELLO = """
    CREATE FUNCTION holdfast.hello(integer, text, bigint, bigint, boolean, text, OUT code integer,
                                   OUT version integer, OUT pid integer, OUT number bigint, OUT era text)
    LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM holdfast.become();
        code := 0; version := $1; pid := pg_backend_pid(); number := 1; era := '';
    END $$;
"""


@case
def a_schema_prepared_by_another_role_is_refused(t):
    server.sql("CREATE ROLE mallory")
    for trap in (TABLE, HELLO):
        with database(t, "trojan"):
            server.sql(TROJAN + trap, "trojan")
            admin = server.admin_url("trojan")
            for args in (["init"], ["run", "-w", "9", "a", "--", "true"], ["list"]):
                done = t.run(*args, "--url", admin) if args[0] != "run" else \
                    t.run("run", "--url", admin, *args[1:])
                t.equal((done.code, done.out), (69, ""), f"{args}: {done.err}")
                t.contains(done.err, '"mallory"')
            t.equal(t.run("init").code, 69, "as a user")
            t.equal(server.sql("SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'"), [(False,)])
            server.sql("DROP SCHEMA holdfast CASCADE", "trojan")
    server.sql("DROP ROLE mallory")


@case
def the_rights_that_are_granted_are_enough(t):
    text = sql(t, "--grant", postgres.USER)
    with database(t, "least"):
        for _ in range(2):  # the script may be run again
            server.sql(text, "least")
        use_everything(t)
        with server.connect("least", postgres.USER) as link:
            link.run("SELECT holdfast.fence('job', 7)")
        for name, in server.sql("SELECT relname FROM pg_class WHERE relkind IN ('r', 'S') AND "
                                "relnamespace = 'holdfast'::regnamespace", "least"):
            refused(t, "least", f"SELECT * FROM holdfast.{name}")
        refused(t, "least", "CREATE TABLE holdfast.more ()")
        refused(t, "least", "SELECT holdfast.remove_place(NULL, NULL, 0, 'l')")
        refused(t, "least", "SELECT holdfast.expire('0123456789abcdef', 1)")
        refused(t, "least", "SELECT holdfast.recount()")
        t.equal(t.run("init").code, 0, "init")


@case
def only_functions_that_clients_call_are_granted(t):
    granted = set(re.findall(r"holdfast\.(\w+)[,\s]", (SOURCE / "grant.sql").read_text()))
    calls = (SOURCE / "call/function.c").read_text() + (SOURCE / "diagnose.sql").read_text()
    t.equal(granted, set(re.findall(r"holdfast\.(\w+)\(", calls)) - {"break_place"} | {"fence"}, "granted")
    with database(t, "list"):
        server.sql(sql(t, "--grant", postgres.USER), "list")
        open_to_us = {name for name, in server.sql(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'holdfast'::regnamespace AND "
            f"has_function_privilege('{postgres.USER}', oid, 'EXECUTE')", "list")}
        trusted = {name for name, in server.sql(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'holdfast'::regnamespace AND prosecdef", "list")}
    t.equal(open_to_us, granted, "functions that we may call")
    t.equal(trusted, granted | {"break_place"}, "functions that act for their owner")


@case
def a_role_may_have_any_name(t):
    server.sql('CREATE ROLE "An ""odd"" Role"')
    with database(t, "odd") as url:
        server.sql(sql(t, "--grant", 'An "odd" Role'), "odd")
        server.sql(f'GRANT "An ""odd"" Role" TO {postgres.USER}', "odd")
        t.equal(t.run("run", "a", "--", "true").code, 0)
    server.sql('DROP ROLE "An ""odd"" Role"')


@case
def the_manual_lists_the_same_rights(t):
    manual = (ROOT / "docs/postgres.md").read_text()
    for line in (SOURCE / "grant.sql").read_text().replace(':"role"', '"app"').splitlines()[1:]:
        t.contains(manual, line.strip())


@case
def the_manuals_transaction_is_fenced(t):
    job = re.search(r"^```sql\n(.*?)^```", (ROOT / "docs/postgres.md").read_text(), re.S | re.M)[1]
    with database(t, "bank"):
        server.sql(sql(t, "--grant", postgres.USER), "bank")
        server.sql("CREATE TABLE account AS SELECT 1 AS id, 100 AS balance;"
                   f"GRANT ALL ON account TO {postgres.USER}", "bank")
        with server.connect("bank", postgres.USER) as link:
            for token in (7, 7, 9):
                link.run(job.replace(":token", str(token)))
            try:
                link.run(job.replace(":token", "8"))
                raise hf.Failure("a token that is too low was let through")
            except pq.Error as error:
                t.equal(error.code, "HF002")
        t.equal(server.sql("SELECT balance FROM account", "bank"), [(130,)])


if __name__ == "__main__":
    with store("postgres"), postgres.standalone() as server:
        hf.main()
