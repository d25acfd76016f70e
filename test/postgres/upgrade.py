#!/usr/bin/env -S python3 -B
"""upgrade - clients of this layout of the schema and of the next one in one database.

hf.NEXT is the same command with the next layout number: cmake/Next.cmake."""
import contextlib
import os
import signal
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import postgres  # noqa: E402

NOW, NEXT = postgres.version(), postgres.version() + 1
server = None


@contextlib.contextmanager
def database(t, name):
    t.env["HOLDFAST_URL"] = server.createdb(name) + "?ttl=1s"
    try:
        t.equal(t.run("init").code, 0, "init")
        yield
    finally:
        server.dropdb(name)
        t.env["HOLDFAST_URL"] = f"sqlite:{t.folder}/locks.db"


def run_next(t, *args):
    return t.run(*args, executable=hf.NEXT)


def refused(t, done, says):
    t.equal((done.code, done.out), (64, ""), done.err)
    t.one_line(done.err)
    t.contains(done.err, f"another version than ours: {says}")


def token(t, done):
    t.equal((done.code, done.err), (0, ""))
    return int(done.out)


TOKEN = ["run", "-q", "-w", "9", "a", "--", "sh", "-c", "echo $HOLDFAST_TOKEN"]


@case
def the_next_layout_is_made_once_this_one_has_no_sessions(t):
    with database(t, "turn"):
        holder = t.hold("a")
        held = t.show("a")["holders"][0]["token"]
        for args in (TOKEN, ["init"], ["list"]):
            refused(t, run_next(t, *args), f"it is of version {NOW}, ours of {NEXT}, and it has 1 sessions: "
                    "SELECT * FROM holdfast.session")
        t.equal(t.run("check", "a", "--token", held).code, 0, "it is still held")
        name = "holdfast " + t.run("version").out.split()[1]
        t.equal(server.sql("SELECT note FROM holdfast.session", "turn"), [(name,)])
        t.equal(server.sql("SELECT application_name FROM pg_stat_activity WHERE application_name ~ 'holdfast'"),
                [(name,)])
        t.end(holder)
        t.true(token(t, run_next(t, *TOKEN)) > int(held), "tokens rise")
        for args in (TOKEN, ["init"], ["list"]):
            refused(t, t.run(*args), f"it is of version {NEXT}, ours of {NOW}")
        t.equal(server.sql("SELECT version FROM holdfast.head", "turn"), [(NEXT,)])


@case
def an_older_client_that_wakes_up_is_refused(t):
    """It was stopped for longer than its lease.  Others expired its session, and ended."""
    with database(t, "stopped"):
        holder = t.hold("a")
        pids = all_of(holder)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        held = token(t, t.run(*TOKEN))
        t.until("the next layout can be made", lambda: (done := run_next(t, *TOKEN)).code == 0 and int(done.out) > held)
        for pid in reversed(pids):  # the command first: holdfast ends it
            os.kill(pid, signal.SIGCONT)
        t.equal(t.finish(holder).code, 79, "the stopped holder")
        t.equal(server.sql("SELECT count(*) FROM holdfast.session", "stopped"), [(0,)])
        t.equal(server.sql("SELECT version FROM holdfast.head", "stopped"), [(NEXT,)])


@case
def several_newer_clients_may_come_at_once(t):
    with database(t, "crowd"):
        last = token(t, t.run(*TOKEN))
        running = [t.start(*TOKEN, executable=hf.NEXT) for _ in range(8)]
        tokens = [token(t, t.finish(process)) for process in running]
        t.equal(len(set(tokens)), 8, "tokens")
        t.true(min(tokens) > last, "tokens rise")


@case
def an_administrator_ends_a_session_of_an_older_client(t):
    """The client was killed, and no client of its version is left to expire the session."""
    with database(t, "hand"):
        holder = t.hold("a")
        kill_all_of(holder)
        refused(t, run_next(t, *TOKEN), f"it is of version {NOW}, ours of {NEXT}, and it has 1 sessions")
        t.equal(server.sql("SELECT holdfast.expire(sid, NULL) FROM holdfast.session", "hand"), [(True,)])
        token(t, run_next(t, *TOKEN))


if __name__ == "__main__":
    with store("postgres"), postgres.standalone() as server:
        hf.main()
