#!/usr/bin/env -S python3 -B
"""error_messages - each fault of a reachable PostgreSQL server is reported in one clear line, in
time, without a password.  (test/fault has servers that cannot be reached, init.py the rights that
a user needs.)"""
import contextlib
import os
import subprocess
import sys
import time

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import postgres  # noqa: E402

USER = postgres.USER
server = None  # TLS is optional


def where():
    return f"127.0.0.1:{server.port}"


def url(rest="?ttl=2s", database="test", user=f"{USER}:{SECRET}", at=None):
    return f"postgres://{user}@{where() if at is None else at}/{database}{rest}"


# ---- Servers ---------------------------------------------------------------------------


@case
def a_unix_socket_and_postgresql_urls_work(t):
    works(t, f"postgresql://{USER}:{SECRET}@{where()}/test?ttl=2s")
    works(t, f"postgres:///test?host={server.socket}&port={server.port}&user={USER}&ttl=2s")


@case
def an_absent_server_is_reported_or_passed_over(t):
    """In ways that only this store has; see test/fault/unreachable_server.py for the others."""
    with nobody() as at:
        works(t, url(at=f"{at},{where()}"))  # the second one is there
    out_of_reach(t, f"postgres:///test?host=/no/such&user={USER}", "/no/such:5432/test cannot be reached")


SILENT = """
import socket, subprocess, sys
silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
silent.bind(("127.0.0.1", 53))
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


@case
def a_name_server_that_never_answers_is_reported_in_time(t):
    """We wait no longer than -w says."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-mn", "true"]).returncode != 0:
        raise hf.Skip("this needs root, and namespaces")
    t.path("resolv").write_text("nameserver 127.0.0.1\n")
    t.path("service").write_text("[here]\nhost=db.example\n")
    script = f"ip link set lo up && mount --bind {t.path('resolv')} /etc/resolv.conf && exec \"$@\""
    inside = ["unshare", "-mn", "sh", "-c", script, "sh", sys.executable, "-c", SILENT, hf.HOLDFAST]
    for where, env in (("postgres://db.example/test", {}), ("postgres:///test", {"PGHOST": "db.example"}),
                       ("postgres://?service=here", {"PGSERVICEFILE": str(t.path("service"))})):
        begin = time.monotonic()
        done = subprocess.run([*inside, "run", "-w", "1", "a", "--url", where, "--", "true"],
                              env=t.env | env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        seconds = time.monotonic() - begin
        t.equal(done.returncode, 69, f"{where}: {done.stderr}")
        t.contains(done.stderr, "db.example")
        t.true(seconds < 1 + MANY, f"{where} took {seconds:.1f} s")


@case
def a_standby_is_reported_or_passed_over(t):
    works(t, url())  # makes the schema
    standby = server.standby()
    # A busy machine may need longer for the first answer of a new server than ttl=2s allows.
    out_of_reach(t, url("?ttl=15s", at=f"127.0.0.1:{standby.port}"), "is read-only: a standby?")
    works(t, url(at=f"127.0.0.1:{standby.port},{where()}"))  # the second one is the primary


@contextlib.contextmanager
def with_role(change, undo):
    server.sql(f"ALTER ROLE {USER} {change}")
    try:
        yield
    finally:
        server.sql(f"ALTER ROLE {USER} {undo}")


@case
def a_database_in_another_encoding_works(t):
    """If it cannot store a command line, that is no reason to refuse a lock."""
    server.sql(f"CREATE DATABASE latin OWNER {USER} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' "
               "LC_CTYPE 'C'", "postgres")
    try:
        done = t.run("run", "-w", "9", "a", "--url", url(database="latin"), "--", "echo", "\u65e5\u672c")
        t.equal((done.code, done.out, done.err), (0, "\u65e5\u672c\n", ""))
        refused(t, 69, "is not in UTF-8", "run", "-w", "9", "\u65e5", "--url", url(database="latin"), "--", "true")
    finally:
        server.dropdb("latin")


@case
def settings_of_a_role_work_or_are_reported(t):
    with with_role("SET default_transaction_read_only = on", "RESET default_transaction_read_only"):
        out_of_reach(t, url(), "is read-only: a standby?")
    with with_role("CONNECTION LIMIT 0", "CONNECTION LIMIT -1"):
        out_of_reach(t, url(), "has no connection left for us")
    for level in ("serializable", "repeatable read"):
        with with_role(f"SET default_transaction_isolation = '{level}'",
                       "RESET default_transaction_isolation"):
            unusable(t, url(), "has default_transaction_isolation set")
    with with_role("SET lock_timeout = '20s'", "RESET lock_timeout"), \
            with_role("SET search_path = ''", "RESET search_path"), \
            with_role("SET synchronous_commit = off", "RESET synchronous_commit"), \
            with_role("SET client_encoding = 'latin1'", "RESET client_encoding"), \
            with_role("SET DateStyle = 'German'", "RESET DateStyle"):
        works(t, url())


@case
def a_foreign_schema_is_reported(t):
    server.createdb("strange")
    try:
        with server.connect("strange", USER) as link:
            link.run("CREATE SCHEMA holdfast; CREATE TABLE holdfast.line (x int)")
        refused(t, 69, "/strange", "run", "-w", "9", "a", "--url", url(database="strange"),
                "--", "true")
    finally:
        server.dropdb("strange")


# ---- Users and passwords ------------------------------------------------------------------------


@case
def a_wrong_password_is_reported(t):
    for who in (f"{USER}:wrong", f"nobody:{SECRET}"):
        unusable(t, url(user=who), "says that the password or the user is wrong")
    unusable(t, url(user=USER), "wants a password")
    with with_role("NOLOGIN", "LOGIN"):
        unusable(t, url(), "is not permitted to log in")


@case
def a_missing_or_closed_database_is_reported(t):
    unusable(t, url(database="nowhere"), '/nowhere has no such database: database "nowhere" does not exist')
    server.sql(f"REVOKE CONNECT ON DATABASE test FROM PUBLIC, {USER}")
    try:
        unusable(t, url(), "permission denied for database")
    finally:
        server.sql(f"GRANT CONNECT ON DATABASE test TO PUBLIC, {USER}")


@case
def passwords_in_files_and_variables_work(t):
    """libpq reads them."""
    file = t.path("pass")
    file.touch(mode=0o600)
    file.write_text(f"127.0.0.1:{server.port}:test:{USER}:{SECRET}\n")
    for env in ({"PGPASSFILE": str(file)}, {"PGPASSWORD": SECRET}):
        done = t.run("run", "-w", "9", "a", "--url", url(user=USER), "--", "true", env=env)
        t.equal((done.code, done.err), (0, ""), env)
    service = t.path("service")
    service.write_text(f"[here]\nhost=127.0.0.1\nport={server.port}\ndbname=test\nuser={USER}\n"
                       f"password={SECRET}\n")
    done = t.run("run", "-w", "9", "a", "--url", "postgres://?service=here", "--", "true",
                 env={"PGSERVICEFILE": str(service)})
    t.equal((done.code, done.err), (0, ""), "service")


@case
def missing_or_required_tls_is_reported(t):
    """See test/fault/tls.py for certificates."""
    with postgres.standalone() as plain:
        unusable(t, url("?sslmode=require", at=f"127.0.0.1:{plain.port}"), "does not support SSL")
    with postgres.standalone(tls="only") as only:
        at = f"127.0.0.1:{only.port}"
        who = f"{USER}:{postgres.PASSWORD}"
        unusable(t, url("?sslmode=disable", user=who, at=at), "no encryption")
        works(t, url("?sslmode=require&ttl=2s", user=who, at=at))


# ---- URLs ------------------------------------------------------------------------------


@case
def bad_urls_are_reported(t):
    for bad, says in ((f"postgres:{USER}:{SECRET}@{where()}/test", "no // in"),
                      (f"postgres://{USER}:{SECRET}/x@{where()}/test", "in a password %2F"),
                      (url("?bogus=1"), 'has no parameter "bogus"'),
                      (url("?ttl=1x"), "ttl is not a time"), (url("?ttl=1ms"), "ttl is out of range"),
                      (url("?polling=maybe"), "polling cannot be"),
                      (url("?sslmode=bogus"), "sslmode"), (url(at="127.0.0.1:99999"), "port"),
                      (url(at="127.0.0.1:x"), "port"), (url(at="[::1"), "libpq cannot read")):
        unusable(t, bad, says, code=64)


@case
def an_invalid_place_is_shown_and_can_be_broken(t):
    """An administrator, or an older schema, has made it."""
    server.createdb("strange")
    t.env["HOLDFAST_URL"] = url("?ttl=30s", database="strange")
    t.equal(t.run("run", "a", "--", "true").code, 0)
    for table in ("place", "line"):
        for name, in server.sql("SELECT conname::text FROM pg_constraint WHERE contype = 'c' AND "
                                f"conrelid = 'holdfast.{table}'::regclass", "strange"):
            server.sql(f"ALTER TABLE holdfast.{table} DROP CONSTRAINT {name}", "strange")
    for weight, capacity in ((0, 1), (5, 1), (-3, 1), (2**40, 1), (1, 0), (1, -1), (7, 2**32 - 1)):
        holder = t.hold("a")
        server.sql("SELECT holdfast.unfold(ARRAY['a'])", "strange")  # so it has a row of its own
        server.sql(f"UPDATE holdfast.place SET weight = {weight} WHERE name = 'a'", "strange")
        server.sql(f"UPDATE holdfast.line SET capacity = {capacity} WHERE name = 'a'", "strange")
        lock, = t.list()
        t.equal([entry["kind"] for entry in lock["holders"]], ["unknown"], (weight, capacity))
        done = t.run("run", "-n", "a", "--", "echo", "in")
        t.true(done.code != 0 and done.out == "", done.err)  # the server uses its own totals
        t.contains(t.run("doctor", "a").out, 'in the queue of "a" makes no sense')
        server.sql("UPDATE holdfast.place SET weight = 1 WHERE name = 'a'", "strange")
        server.sql("UPDATE holdfast.line SET capacity = 1 WHERE name = 'a'", "strange")
        t.equal(t.run("break", "-y", "--token", lock["holders"][0]["token"], "a").code, 0)
        t.finish(holder)
    t.env["HOLDFAST_URL"] = f"sqlite:{t.folder}/locks.db"
    server.dropdb("strange")


if __name__ == "__main__":
    with store("postgres"), postgres.standalone() as server:
        server.sql(f"ALTER ROLE {USER} PASSWORD '{SECRET}'")
        hf.main()
