#!/usr/bin/env -S python3 -B
"""expiry_under_faults - a dead holder expires in time, though connections end and calls are canceled.

A waiter that reconnects does not start to count again.  Each waiter has a database of its own, so
that it gets no help from another waiter."""
import contextlib
import sys
import threading
import time

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import postgres  # noqa: E402

TTL = 9  # seconds
DATABASES = [f"faults{i}" for i in range(4)]
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
    """Start a waiter, then kill holder and guardian."""
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
def a_dead_holder_expires_though_connections_keep_ending(t):
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
def a_canceled_expire_call_is_repeated_soon(t):
    """As by statement_timeout: the call waits for a line that another transaction has locked."""
    def cancel_expire_call(name):
        with server.connect(name) as link:
            link.run("BEGIN; SELECT FROM holdfast.line FOR UPDATE")
            t.until("the call waits", lambda: server.sql(
                f"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND "
                "query ~ 'expire' AND wait_event_type = 'Lock'"))
            link.run("COMMIT")
        return time.time()

    def act(name, waiter):
        canceled = cancel_expire_call(name)
        times[name] = granted(t, waiter) - canceled

    times, threads = {}, []
    with databases(t):
        for name, waiter in zip(DATABASES, waiters(t)):
            threads.append(threading.Thread(target=act, args=[name, waiter]))
            threads[-1].start()
        for thread in threads:
            thread.join()
    t.equal(len(times), len(DATABASES), "granted")
    print("# after it was canceled, s:", *(f"{x:.1f}" for x in times.values()))
    t.true(max(times.values()) < 1, f"{times}")


if __name__ == "__main__":
    with store("postgres"), postgres.standalone() as server:
        hf.main()
