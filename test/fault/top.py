#!/usr/bin/env -S python3 -B
"""top - `holdfast top` on a server that goes away and comes back.

    test/fault/top.py [FOLDER] redis|postgres|zookeeper [CASE ...]
"""
from stores import *  # noqa: F403
from tmux import *
import time


@case
def top_is_live_and_survives_an_absent_server(t):
    if not os.path.exists(f"{os.path.dirname(hf.HOLDFAST)}/holdfast-top"):
        raise Skip("holdfast-top is not built")
    t.env["HOLDFAST_URL"] = row.url(lease="6s" if row.name == "redis" else "20s")  # see docs/redis.md
    holder = t.hold("deploy", "--note", "no <b>")
    waiter = t.start("run", "-q", "deploy", "--", "true")
    t.waiting("deploy", 1)
    terminal = Tmux(t, 110, 24)
    terminal.type('"$HF" top; echo rc=$?.\n')
    screen = terminal.shows(">deploy", "held 1  waiting 1", "no <b>", "(live)")
    t.lacks(screen, SECRET)
    t.true("session" in screen or "[|" in screen, f"a lease: {screen}")
    terminal.keys("Enter")
    screen = terminal.shows("deploy  mutex, 1 holds, 1 waits", ">holds", "`- 1", "holdfast break --url", "--token")
    t.lacks(screen, SECRET)
    terminal.keys("Escape")

    row.down()
    try:
        terminal.shows("NOT REACHABLE", row.called("").strip().split(" at ")[0], ">deploy")
        begin = time.monotonic()  # keys still work, and nothing is broken
        terminal.keys("b")
        terminal.type("deploy")
        terminal.keys("Enter")
        terminal.until(lambda text: "broken" in text.rstrip().split("\n")[-1])
        t.true(time.monotonic() - begin < SOON, "it says so soon")
        t.lacks(terminal.screen(), 'broken: "deploy"')
    finally:
        row.up()
    t.until("both are back", lambda: any(
        lock["waiters"] and all(one["token"] != "0" for one in lock["holders"]) for lock in t.list()), 30)
    terminal.shows("(live)", "held 1", ">deploy")
    terminal.keys("b")
    terminal.type("deploy")
    terminal.keys("Enter")
    terminal.shows('broken: "deploy"', "no lock is in use")
    terminal.keys("q")
    terminal.shows("rc=0.")
    terminal.close()
    t.equal(t.finish(holder).code, 79)
    t.equal(t.finish(waiter).code, 0)


play()
