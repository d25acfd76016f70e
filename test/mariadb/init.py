#!/usr/bin/env -S python3 -B
"""init.py - who may make the tables and procedures, and which rights an account needs to use them."""
import contextlib
import json
import os
import re
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import mariadb  # noqa: E402
import mywire  # noqa: E402

SOURCE = ROOT / "src/store/mariadb"
VERSION = int(re.search(r"schema_version = (\d+)", (SOURCE / "schema.c").read_text())[1])
POOR = "poor"  # an account without rights
server = None


def script(t, *args):
    done = t.run("init", "--print", *args, "--url", "mariadb:", env={"HOLDFAST_URL": None})
    t.equal((done.code, done.err), (0, ""))
    return done.out


def administrate(database, text):
    """As docs/mariadb.md says: holdfast init --print ... | mariadb DATABASE"""
    subprocess.run(["mariadb", "--no-defaults", f"-u{mariadb.ADMIN}", "-S", server.socket, database],
                   input=text, text=True, check=True)


@contextlib.contextmanager
def database(t, name, user=POOR):
    """`user` may use it as far as it is granted later; USER owns it."""
    server.sql(f"CREATE DATABASE `{name}`", "")
    if user == mariadb.USER:
        server.sql(f"GRANT ALL ON `{name}`.* TO {user}@'%'", "")
    t.env["HOLDFAST_URL"] = url = server.url_of(name, user) + "?ttl=4s"
    try:
        yield url
    finally:
        server.dropdb(name)
        t.env["HOLDFAST_URL"] = f"sqlite:{t.folder}/locks.db"


def definers(name):
    return {mariadb.shown(row[0]) for row in server.sql(
        f"SELECT DISTINCT DEFINER FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{name}'")}


@case
def an_account_that_may_not_create_others_makes_it_with_its_own_rights(t):
    with database(t, "own", mariadb.USER):
        for _ in range(2):
            done = t.run("init")
            t.equal((done.code, done.err), (0, ""))
            t.contains(done.out, " is ready for use\n")
            t.equal(server.sql("SELECT version FROM hf_head", "own"), [(VERSION,)])
            t.equal(server.sql("SELECT COUNT(*) FROM hf_session", "own"), [(0,)], "sessions left")
        t.equal(definers("own"), {f"{mariadb.USER}@%"})


@case
def an_administrator_makes_it_with_an_account_of_its_own(t):
    """The database as well."""
    url = server.admin_url("made")
    done = t.run("init", "--url", url)
    t.equal((done.code, done.err), (0, ""))
    t.equal(definers("made"), {"holdfast@localhost"})
    t.equal(t.run("run", "--url", url, "a", "true").code, 0)
    server.dropdb("made")


@case
def an_account_that_may_not_is_told_what_to_do(t):
    with database(t, "closed"):
        for args in (["init"], ["run", "a", "--", "true"]):
            done = t.run(*args)
            t.equal((done.code, done.out), (69, ""), args)
            t.one_line(done.err)
            t.contains(done.err, "`holdfast init --print --grant USER --url mariadb:`")


def use_everything(t):
    """Call each function at least once.  The right to break locks is not granted."""
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
    t.contains(done.err, f"{server.address} does not allow it: execute command denied to user 'poor'@'%' for routine "
               "'least.hf_break_place'")
    server.sql(f"GRANT EXECUTE ON FUNCTION hf_break_place TO {POOR}", "least")
    t.equal(t.run("break", "-y", "job").code, 0, "break")
    t.equal(t.finish(holder).code, 79, "the holder's status")
    t.equal(t.finish(waiter).code, 0, "the next one's status")
    t.end(watcher)
    t.end(claim)
    t.equal(t.run("history", "--keep", "100").code, 0, "history --keep")
    t.equal(t.run("run", "kept", "true").code, 0)
    t.contains(t.run("history", "kept").out, "kept")
    dead = t.hold("dead")
    kill_all_of(dead)
    t.equal(t.finish(t.start("run", "-w", "30", "dead", "--", "true")).code, 0, "after a dead holder")
    done = t.run("doctor", "--json", "job")
    t.equal((done.code, done.err), (0, ""))
    t.equal([finding for finding in json.loads(done.out) if finding["level"] != "ok"], [])


def refused(t, link, text):
    try:
        link.run(text)
    except mywire.Error as error:
        t.true(error.code in (1142, 1370), f"{text}: {error}")
        return
    raise hf.Failure(f"it was let through: {text}")


@case
def the_rights_that_are_granted_are_enough(t):
    text = script(t, "--grant", POOR)
    with database(t, "least"):
        for _ in range(2):  # the script may be run again
            administrate("least", text)
        use_everything(t)
        with server.connect("least", POOR, mariadb.PASSWORD) as link:
            link.run("START TRANSACTION; CALL hf_check_fence('job', 7); COMMIT")
            for name, in server.sql("SHOW TABLES", "least"):
                refused(t, link, f"SELECT * FROM {mariadb.shown(name)}")
            for call in ("CALL hf_send('0123456789abcdef', 'e')", "SELECT hf_expire('0123456789abcdef')",
                         "CALL hf_recount()", "CALL hf_remove_session('0123456789abcdef', 0, 'x')"):
                refused(t, link, call)
        t.equal(t.run("init").code, 0, "init")


@case
def only_what_clients_call_is_granted(t):
    granted = set(re.findall(r"(?:PROCEDURE|FUNCTION) (hf_\w+)", (SOURCE / "grant.sql").read_text()))
    calls = "".join(path.read_text() for path in SOURCE.rglob("*.c") if path.name != "schema.c")
    called = set(re.findall(r'"(hf_[a-z_]+)"', calls)) | {"hf_await"}
    t.equal(granted, called - {"hf_break_place"} | {"hf_check_fence"})


@case
def an_account_may_have_any_name(t):
    for role, name in (("an `odd` account", "`an ``odd`` account`"), ("poor@%", "`poor`@`%`")):
        t.contains(script(t, "--grant", role), f"GRANT EXECUTE ON PROCEDURE hf_hello TO {name} //")
    server.sql("CREATE USER `an ``odd`` account`@`%`", "")
    with database(t, "odd"):
        administrate("odd", script(t, "--grant", "an `odd` account"))
    server.sql("DROP USER `an ``odd`` account`@`%`", "")


ALIVE = ("INSERT INTO hf_session (sid, connection, renewal, renewed, ttl, note, log) "
         "VALUES ('0123456789abcdef', 1, 1, 1, 1000, '', 0)")


@case
def another_version_is_named_and_not_changed(t):
    for version, change in ((VERSION + 1, "DO 1"), (VERSION - 1 or -1, ALIVE)):
        with database(t, "other", mariadb.USER):
            t.equal(t.run("init").code, 0)
            server.sql(f"UPDATE hf_head SET version = {version}; DROP FUNCTION hf_verify; {change}", "other")
            for args in (["init"], ["run", "-w", "9", "a", "--", "true"]):
                done = t.run(*args)
                t.equal((done.code, done.out), (64, ""), f"{args} of {version}: {done.err}")
                t.one_line(done.err)
                t.contains(done.err, f"they are of version {version}, ours of {VERSION}")
            t.equal(server.sql("SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'other' AND "
                               "ROUTINE_NAME = 'hf_verify'"), [(0,)])


@case
def an_older_version_without_sessions_is_replaced(t):
    with database(t, "older", mariadb.USER):
        t.equal(t.run("init").code, 0)
        server.sql("UPDATE hf_head SET version = -1, floor = 1900000000000000; CALL hf_check_fence('m', 5)", "older")
        t.equal(t.run("run", "a", "--", "true").code, 0, "run")
        t.equal(server.sql("SELECT version FROM hf_head", "older"), [(VERSION,)])
        t.equal(server.sql("SELECT token FROM hf_fence", "older"), [(5,)], "what was fenced")
        done = t.run("run", "a", "--", "sh", "-c", "echo $HOLDFAST_TOKEN")
        t.true(int(done.out) > 1900000000000000, f"a token rose: {done.out}")


@contextlib.contextmanager
def servers():
    global server
    with mariadb.standalone() as server:
        server.sql(f"CREATE USER {POOR}@'%' IDENTIFIED BY '{mariadb.PASSWORD}'", "")
        yield


if __name__ == "__main__":
    with store("mariadb"), servers():
        hf.main()
