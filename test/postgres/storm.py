#!/usr/bin/env -S python3 -B
"""storm - a dead holder is buried in time, though the server ends connections or cancels calls.

A waiter that connects again does not begin to count again.  Each database has a waiter of its own,
so that none profits from another."""
import contextlib
import sys
import threading
import time

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import postgres  # noqa: E402

TTL = 9  # seconds
DATABASES = [f"storm{i}" for i in range(4)]
server = None


@contextlib.contextmanager
def databases(t):
    for name in DATABASES:
        server.createdb(name, schema=True)
    try:
        yield
    finally:
        for name in DATABASES:
            server.dropdb(name)
        t.env["HOLDFAST_URL"] = f"sqlite:{t.folder}/locks.db"


def use(t, name):
    t.env["HOLDFAST_URL"] = f"{server.url_of(name)}?ttl={TTL}s"


def wait_for_a_dead_holder(t):
    """A waiter in the database that is in use: holder and guardian are killed while it waits."""
    holder = t.hold("a")
    waiter = t.start("run", "-q", "-w", "60", "a", "--", "date", "+%s.%N")
    t.waiting("a", 1)
    kill_all_of(holder)
    waiter.since = time.time()
    return waiter


def waiters(t):
    """One in each database."""
    for name in DATABASES:
        use(t, name)
        yield wait_for_a_dead_holder(t)


def granted(t, waiter):
    return float(t.finish(waiter).out)


@case
def connections_that_end_again_and_again(t):
    def terminate():
        with server.connect("postgres") as link:
            while not over.wait(0.4):
                link.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ~ '^holdfast'")

    over = threading.Event()
    with databases(t):
        all_of_them = list(waiters(t))
        thread = threading.Thread(target=terminate)
        thread.start()
        try:
            times = [granted(t, waiter) - waiter.since for waiter in all_of_them]
        finally:
            over.set()
            thread.join()
    print("# after their holders died, s:", *(f"{x:.1f}" for x in times))
    t.true(max(times) < TTL + 1.5, f"{times}")


@case
def a_burial_that_is_cancelled(t):
    """As by statement_timeout: it has to wait for a line that somebody has locked."""
    def cancel_burial(name):
        with server.connect(name) as link:
            link.run("BEGIN; SELECT FROM holdfast.line FOR UPDATE")
            t.until("it waits", lambda: server.sql(
                f"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND "
                "query ~ 'bury' AND wait_event_type = 'Lock'"))
            link.run("COMMIT")
        return time.time()

    def act(name, waiter):
        cancelled = cancel_burial(name)
        times[name] = granted(t, waiter) - cancelled

    times, threads = {}, []
    with databases(t):
        for name, waiter in zip(DATABASES, waiters(t)):
            threads.append(threading.Thread(target=act, args=[name, waiter]))
            threads[-1].start()
        for thread in threads:
            thread.join()
    t.equal(len(times), len(DATABASES), "granted")
    print("# after it was cancelled, s:", *(f"{x:.1f}" for x in times.values()))
    t.true(max(times.values()) < 1, f"{times}")


if __name__ == "__main__":
    with store("postgres"), postgres.standalone() as server:
        hf.main()
