#!/usr/bin/env -S python3 -B
"""notifications - forged and missing NOTIFYs."""
import subprocess
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import postgres  # noqa: E402


server = None


def places(state):
    return server.sql("SELECT sid, id FROM holdfast.every_place WHERE name = 'job' AND state = $$%s$$" % state)


@case
def a_forged_notification_changes_nothing(t):
    """The sender has no other rights, but knows the ids of sessions."""
    t.env["HOLDFAST_URL"] = server.url + "?ttl=3s"
    server.sql("CREATE ROLE nobody LOGIN")
    holder = t.hold("job")
    flag = t.path("in")
    waiter = t.start("run", "job", "--", "touch", str(flag))
    t.waiting("job", 1)
    (holds, its), = places("g")
    (waits, id), = places("w")
    with server.connect(user="nobody") as link:
        for text in (f"g {id} -1 0", f"g {id} -1 0 0", f"g {id} -1 0 {'0' * 16}", f"n {id}", f"b {id}",
                     f"a {id}", "g", "g x", "", "c job"):
            link.call("SELECT pg_notify($1, $2)", f"hf_{waits}", text)
        for text in (f"b {its}", f"a {its}", f"n {its}"):
            link.call("SELECT pg_notify($1, $2)", f"hf_{holds}", text)
    t.equal(t.run("try", "job", "--", "true").code, 75, "it is held")
    t.true(holder.poll() is None and waiter.poll() is None and not flag.exists(), "no process believed it")
    t.equal([len(places(state)) for state in "gw"], [1, 1])
    t.equal(t.run("check", "job", "--token", t.show("job")["holders"][0]["token"]).code, 0)
    t.end(holder)
    t.equal(t.finish(waiter).code, 0)
    t.true(flag.exists(), "the waiter has run")


@case
def locks_work_without_any_notification(t):
    """The server's queue is full.  Waiters, watchers and holders of broken locks find out within a ttl."""
    t.env["HOLDFAST_URL"] = server.url + "?ttl=3s"
    server.sql("ALTER FUNCTION holdfast.notify RENAME TO really_notify; CREATE FUNCTION holdfast.notify(text, text) RETURNS "
               f"void LANGUAGE sql AS ''; GRANT EXECUTE ON FUNCTION holdfast.notify TO {postgres.USER}")
    try:
        holder = t.hold("job")
        waiter = t.start("run", "job", "--", "true")
        t.waiting("job", 1)
        t.end(holder)
        t.equal(t.finish(waiter, 20).code, 0, "after a release")
        holder = t.hold("job")
        waiter = t.start("run", "job", "--", "true")
        t.waiting("job", 1)
        watcher = t.start("watch", "job")
        t.true(watcher.stdout.readline(), "it shows the present state")
        t.until("it is watched", lambda: server.sql("SELECT FROM holdfast.watch"))
        t.equal(t.run("break", "-y", "job").code, 0, "break")
        t.equal(t.finish(waiter, 20).code, 0, "the next one's status")
        t.equal(t.finish(holder, 20).code, 79, "the holder's status")
        t.true(watcher.stdout.readline(), "it shows the change")
        t.end(watcher)
    finally:
        server.sql("DROP FUNCTION holdfast.notify; ALTER FUNCTION holdfast.really_notify RENAME TO notify")


if __name__ == "__main__":
    with store("postgres"), postgres.standalone() as server:
        subprocess.run([hf.HOLDFAST, "init", "--url", server.url], check=True,
                       stdout=subprocess.DEVNULL)
        hf.main()
