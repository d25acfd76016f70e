#!/usr/bin/env -S python3 -B
"""doctor - what doctor finds about PostgreSQL servers, and about dangers to locks there."""
import contextlib
import json
import re
import subprocess
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import postgres  # noqa: E402


server = None
secure = None  # with TLS


@contextlib.contextmanager
def set_for_user(name, value, where=None):
    """A setting for our new connections."""
    where = where or server
    where.sql(f"ALTER ROLE {postgres.USER} SET {name} = '{value}'")
    try:
        yield
    finally:
        where.sql(f"ALTER ROLE {postgres.USER} RESET {name}")


@contextlib.contextmanager
def set_for_all(name, value, where=None):
    """A setting of the whole server, which takes effect at once."""
    where = where or server

    def change(text):
        where.sql(text)
        where.sql("SELECT pg_reload_conf()")

    change(f"ALTER SYSTEM SET {name} = '{value}'")
    hf_until(lambda: where.sql(f"SHOW {name}")[0][0] == value)
    try:
        yield
    finally:
        change(f"ALTER SYSTEM RESET {name}")
        hf_until(lambda: where.sql(f"SHOW {name}")[0][0] != value)


def hf_until(condition):
    hf.Test.until(None, "a setting is taken over", condition)


# ---- The server and the connection ------------------------------------------------------------


@case
def a_healthy_server_has_no_warnings(t):
    found = findings(t, server.url + "?ttl=1s")
    t.equal(levels(found), {})
    is_like(t, found, "server", rf"127\.0\.0\.1:{server.port}/test, PostgreSQL 1\d\.\d+, by TCP")
    is_like(t, found, "round trip", r".* in \d+\.\d ms")
    t.equal(found["identity"]["text"], "user tester, by password; database test")
    t.equal(found["session"]["text"], "1 s: how long others wait for a dead holder")
    is_like(t, found, "deadline", r".* surely ours for (0\.\d|1\.0) s, .*")
    is_like(t, found, "clock", r"the server's is \d\.\d\d\d s (ahead of|behind) ours; .*")
    is_like(t, found, "tokens", r"above \d+")
    is_like(t, found, "connections", r"\d+ of 197 are in use")
    is_like(t, found, "messages", r"by NOTIFY, .*, which has \d+ connections?")
    is_like(t, found, "lines", r"1 sessions, ours included; 0 hold, 0 wait, \d+ queues are empty")
    t.equal(found["schema"]["text"], f"holdfast, version {postgres.version()}, owned by tester")
    t.equal(found["integrity"]["text"], "ok")
    t.contains(found["standbys"]["text"], "none")
    t.true("line" not in found and "queue" not in found and "idle" not in found, "findings that do not apply")
    t.lacks(json.dumps(found), postgres.PASSWORD)


@case
def a_name_adds_a_finding_about_its_line(t):
    t.env["HOLDFAST_URL"] = server.url + "?ttl=5s"
    holder, other = t.hold("job"), t.hold("other")
    waiter = t.start("run", "job", "--", "true")
    t.waiting("job", 1)
    found = findings(t, server.url, "job")
    t.equal(levels(found), {})
    t.equal(found["line"]["text"], '1 hold "job", 1 wait')
    is_like(t, found, "lines", r"4 sessions, ours included; 2 hold, 1 wait, \d+ queues are empty")
    t.equal(findings(t, server.url, "no-such-line")["line"]["text"], '0 hold "no-such-line", 0 wait')
    t.end(holder)
    t.equal(t.finish(waiter).code, 0, "the waiter's status")
    t.end(other)


@case
def unix_sockets_and_tls_are_named(t):
    found = findings(t, f"postgres:///test?host={server.socket}&port={server.port}&user={postgres.USER}")
    is_like(t, found, "server", rf"{server.socket}:{server.port}/test, PostgreSQL [\d.]+, by a Unix socket")
    t.equal((found["identity"]["text"], found["encryption"]["level"]),
            ("user tester; database test", "ok"))
    found = findings(t, secure.url)
    t.contains(found["server"]["text"], "by TLS")
    t.contains(found["encryption"]["text"], "is not verified")
    url = secure.url.replace("127.0.0.1", "localhost")
    found = findings(t, f"{url}?sslmode=verify-full&sslrootcert={secure.tls['ca']}")
    t.equal(found["encryption"]["text"], "TLS; the server's certificate is verified")
    t.contains(findings(t, secure.url + "?sslmode=disable")["encryption"]["text"], "this host")


@case
def a_pooler_is_a_warning_unless_polling_is_asked_for(t):
    pooler = server.pgbouncer()
    found = findings(t, pooler.url)
    t.equal(levels(found), {"messages": "warn"})
    tells(t, found, "warn", "messages", "there is a pooler between", "polling=yes")
    found = findings(t, pooler.url + "?polling=yes")
    t.equal(levels(found), {})
    t.contains(found["messages"]["text"], "polling=yes in the URL")
    t.equal(findings(t, server.url + "?polling=yes")["messages"]["text"], found["messages"]["text"])


@case
def a_superuser_is_a_warning(t):
    found = findings(t, server.admin_url(), "-w", "2", code=69)  # it would call the functions of another role
    t.contains(found["link"]["text"], 'has a schema "holdfast" of "tester"')
    server.sql("CREATE DATABASE super", "postgres")
    found = findings(t, server.admin_url("super"))
    tells(t, found, "warn", "identity", "user postgres, by password, a superuser", "--grant ROLE")


@case
def doctor_runs_no_function_of_another_role(t):
    """A superuser calls doctor where other roles have created functions that the search path finds first."""
    server.sql("CREATE DATABASE traps", "postgres")
    server.sql("ALTER DATABASE traps SET search_path = public, pg_catalog", "postgres")
    findings(t, server.admin_url("traps"))
    trap = "LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$"
    server.sql(f"CREATE FUNCTION public.pg_total_relation_size(oid) RETURNS bigint {trap}; "
               f"CREATE FUNCTION public.pg_has_role(text, text) RETURNS boolean {trap}; "
               f"CREATE FUNCTION public.current_setting(text) RETURNS text {trap}; "
               f"CREATE FUNCTION public.times(numeric, integer) RETURNS numeric {trap}; "
               "CREATE OPERATOR public.* (FUNCTION = public.times, LEFTARG = numeric, RIGHTARG = integer); "
               f"CREATE FUNCTION public.same(name, name) RETURNS boolean {trap}; "
               "CREATE OPERATOR public.= (FUNCTION = public.same, LEFTARG = name, RIGHTARG = name)", "traps")
    tells(t, findings(t, server.admin_url("traps")), "ok", "integrity", "ok")


@case
def altered_functions_are_a_warning(t):
    server.sql("CREATE DATABASE strange", "postgres")
    server.sql("CREATE ROLE stranger", "strange")
    with server.connect("strange") as link:
        link.run(postgres.schema_text())
        link.run("GRANT USAGE ON SCHEMA holdfast TO PUBLIC; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA holdfast TO PUBLIC;"
                 "ALTER FUNCTION holdfast.verify SECURITY INVOKER; ALTER FUNCTION holdfast.ask OWNER TO stranger;")
    tells(t, findings(t, server.url_of("strange")), "warn", "schema",
          "of its functions differ from those that init makes", "do you trust its owner")
    server.sql("DROP DATABASE strange WITH (FORCE)", "postgres")


# ---- Settings ----------------------------------------------------------------------------------


@case
def another_isolation_level_is_refused(t):
    with set_for_user("default_transaction_isolation", "serializable"):
        found = findings(t, server.url, "-w", "2", code=69)
        t.contains(found["link"]["text"], "has default_transaction_isolation set: ALTER ROLE")
    t.equal(levels(findings(t, server.url)), {})


@case
def a_short_idle_timeout_is_a_warning(t):
    with set_for_user("idle_session_timeout", "2s"):
        found = findings(t, server.url + "?ttl=6s")
        tells(t, found, "warn", "idle", "idle for 2 s, and ours may be for 2 s", "idle_session_timeout")
        t.true("idle" not in findings(t, server.url + "?ttl=3s"), "we are never idle for that long")


@case
def running_out_of_connections_is_a_warning(t):
    with contextlib.ExitStack() as stack:
        for _ in range(180):
            stack.enter_context(server.connect())
        found = findings(t, server.url)
        tells(t, found, "warn", "connections", "of 197 are in use; when all are", "max_connections")
        tells(t, found, "warn", "messages", "which has 18", "a database of their own")
    t.until("the warning is gone", lambda: levels(findings(t, server.url)) == {})


@case
def fsync_off_is_a_warning(t):
    with set_for_all("fsync", "off"):
        tells(t, findings(t, server.url), "warn", "disk", "fsync is off: if the machine fails", "fsync = on")
    with set_for_all("full_page_writes", "off"):
        tells(t, findings(t, server.url), "warn", "disk", "full_page_writes is off", "full_page_writes = on")
    with set_for_user("synchronous_commit", "off"):
        t.equal(findings(t, server.url)["disk"]["level"], "ok")  # we set it ourselves
    t.equal(findings(t, server.url)["disk"]["level"], "ok")


@case
def an_asynchronous_standby_is_a_warning(t):
    with postgres.standalone(access=["local replication all trust"]) as other:
        follower = other.standby(settings={"cluster_name": "follower"})
        t.until("it follows", lambda: other.sql("SELECT FROM pg_stat_replication WHERE state = 'streaming'"))
        found = findings(t, other.url)
        tells(t, found, "warn", "standbys", "1, asynchronous: after a failover", "synchronous_standby_names")
        with set_for_all("synchronous_standby_names", "*", other):
            t.equal(findings(t, other.url)["standbys"]["text"],
                    "1; every grant is known to * before it counts")
            with set_for_user("synchronous_commit", "local", other):
                tells(t, findings(t, other.url), "warn", "standbys", "synchronous_commit is local",
                      "synchronous_commit = on")
        found = findings(t, follower.url_of("test"), "-w", "2", code=69)
        t.contains(found["link"]["text"], "read-only")


# ---- Data ---------------------------------------------------------------------------------------


@case
def a_clock_that_was_set_back_is_mentioned(t):
    hour = 3600 * 10**6
    url = server.createdb("back", schema=True)
    server.sql("UPDATE holdfast.head SET floor = (SELECT extract(epoch FROM clock_timestamp()) * "
               f"1000000)::bigint + {hour}", "back")
    is_like(t, findings(t, url), "tokens", r"above \d{16}, (3600|3599) s ahead of the server's clock, .*")
    server.dropdb("back")


@case
def totals_changed_by_hand_are_a_fault(t):
    url = server.createdb("hand", schema=True)
    t.equal(t.run("run", "a", "--url", url, "--", "true").code, 0)
    server.sql("INSERT INTO holdfast.line VALUES ('job', 1, false, 1, 1, 0, 1, 1)", "hand")
    found = findings(t, url, code=78)
    tells(t, found, "fault", "integrity", "the totals of 1 queues do not match", "SELECT holdfast.recount()")
    server.sql("SELECT holdfast.recount()", "hand")
    tells(t, findings(t, url), "ok", "integrity", "ok")
    server.dropdb("hand")


def make_dead_rows(where=None, count=21000):
    (where or server).sql(f"INSERT INTO holdfast.watch SELECT g::text, 'x' FROM generate_series(1, {count}) g;"
                          "DELETE FROM holdfast.watch WHERE sid = 'x'")


def held_up(t, where, by):
    """doctor names what holds vacuum up, once the statistics are there."""
    like = rf"\d+ rows, \d+ dead ones, \d+\.\d MB; autovacuum is on; {by} holds vacuum up by \d+ transactions"
    found = t.until(like, lambda: re.fullmatch(like, (found := findings(t, where.url))["upkeep"]["text"]) and found)
    tells(t, found, "warn", "upkeep", "autovacuum is on", "end it: until then busy locks get slower")


@case
def many_dead_rows_are_a_warning_that_names_the_cause(t):
    with server.connect() as link:
        link.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        link.run("SELECT 1 FROM pg_class LIMIT 1")
        make_dead_rows()
        held_up(t, server, rf"a transaction of postgres \(process {link.pid}\)")
        server.sql(f"GRANT pg_read_all_stats TO {postgres.USER}")  # since when
        held_up(t, server, rf"a transaction of postgres \(process {link.pid}\), open for \d+ s,")
        server.sql(f"REVOKE pg_read_all_stats FROM {postgres.USER}")
        link.run("ROLLBACK")
    server.sql("BEGIN; CREATE TABLE zz (i int); PREPARE TRANSACTION 'left'")
    held_up(t, server, r'the prepared transaction "left", open for \d+ s,')
    server.sql("ROLLBACK PREPARED 'left'")
    tells(t, findings(t, server.url), "warn", "upkeep", "autovacuum is on", "VACUUM the tables")
    server.sql("VACUUM holdfast.watch")
    t.until("the warning is gone", lambda: levels(findings(t, server.url)) == {})
    with set_for_all("autovacuum", "off"):
        tells(t, findings(t, server.url), "warn", "upkeep", "autovacuum is off", "autovacuum = on")


@case
def a_standby_that_holds_vacuum_up_is_named(t):
    """With a tenth of the dead rows, if it has done so for a long time."""
    with postgres.standalone(access=["local replication all trust"]) as other:
        follower = other.standby(settings={"cluster_name": "follower", "hot_standby_feedback": "on",
                                           "wal_receiver_status_interval": "1s"})
        t.equal(t.run("init", "--url", other.url).code, 0)
        server_has = "SELECT FROM pg_stat_replication WHERE backend_xmin IS NOT NULL"
        with follower.connect() as link:
            link.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
            link.run("SELECT 1 FROM pg_class LIMIT 1")
            t.until("the primary knows of it", lambda: other.sql(server_has))
            other.sql("DO $$ BEGIN FOR i IN 1..2100 LOOP PERFORM txid_current(); COMMIT; END LOOP; END $$")
            make_dead_rows(other, 3000)
            other.sql(f"GRANT pg_read_all_stats TO {postgres.USER}")
            held_up(t, other, "the standby follower, by its hot_standby_feedback")
            link.run("ROLLBACK")


@contextlib.contextmanager
def servers():
    global server, secure
    with contextlib.ExitStack() as stack:
        settings = {"autovacuum_naptime": "1h", "fsync": "on", "max_prepared_transactions": "2"}
        server = stack.enter_context(postgres.standalone(settings=settings))
        secure = stack.enter_context(postgres.standalone(tls="want"))
        subprocess.run([hf.HOLDFAST, "init", "--url", server.url], check=True, stdout=subprocess.DEVNULL)
        yield


if __name__ == "__main__":
    with store("postgres"), servers():
        hf.main()
