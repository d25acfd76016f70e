#!/usr/bin/env -S python3 -B
"""show-kill.py [ROUNDS [MS]] - kill -9 of `holdfast run`, ROUNDS (20) times.

Its command is a pipeline with a double-forked and a setsid member; all five
write down, every few milliseconds, that they are alive.  Measured: from the kill
to the last sign of life, and to the start of the waiter's command, which must be
later, and mostly within MS milliseconds (500; on an idle machine 100 is plenty).
"""
from hf import *

SIZES = [int(arg) for arg in sys.argv[1:] if arg.isdigit()]
ROUNDS, LIMIT_MS = (SIZES + [20, 500][len(SIZES):])[:2]

MEMBER = """
import os, sys, time
fd = os.open(os.environ["D"] + "/" + sys.argv[1], os.O_WRONLY | os.O_CREAT)
while True:
    os.pwrite(fd, str(time.time()).ljust(24).encode(), 0)
    time.sleep(0.002)
"""
TREE = """
( $PY "$D/member" doublefork & ) &
setsid $PY "$D/member" setsid &
( setsid $PY "$D/member" both & )
$PY "$D/member" left | $PY "$D/member" right
"""
MEMBERS = ("doublefork", "setsid", "both", "left", "right")


def one_round(t):
    t.env["PY"] = f"{sys.executable} -S -E"
    t.path("member").write_text(MEMBER)
    t.path("tree").write_text(TREE)
    holder = t.start("run", "a", "--", "sh", str(t.path("tree")))
    for member in MEMBERS:
        t.until(f"{member} lives", lambda: t.path(member).exists() and t.path(member).read_text())
    waiter = t.start("run", "-q", "a", "--", "date", "+%s.%N")
    t.waiting("a", 1)
    killed = time.time()
    holder.kill()
    done = t.finish(waiter)
    t.equal(done.code, 0)
    started = float(done.out)
    last = max(float(t.path(member).read_text()) for member in MEMBERS)
    t.finish(holder)
    t.until("nothing is left", lambda: not t.processes())
    for member in MEMBERS:
        t.path(member).unlink()
    return (last - killed) * 1000, (started - killed) * 1000


@case
def the_tree_is_gone_before_the_waiter_starts(t):
    rounds = [one_round(t) for _ in range(ROUNDS)]
    for last, started in rounds:
        t.true(last < started, f"alive {last:.1f} ms after the kill, the waiter started at {started:.1f}")
    print("# last sign of life, waiter's command up (ms after the kill):",
          " ".join(f"{last:.1f},{started:.1f}" for last, started in rounds))
    slow = [round(started) for _, started in rounds if started > LIMIT_MS]
    t.true(len(slow) <= ROUNDS / 4, f"rounds over {LIMIT_MS} ms: {slow}")


main()
