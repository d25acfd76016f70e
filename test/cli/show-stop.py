#!/usr/bin/env -S python3 -B
"""show-stop.py [SECONDS] - SIGSTOP of `holdfast run` for SECONDS (3): nobody else
runs; after SIGCONT everything goes on."""
from hf import *

SIZES = [int(arg) for arg in sys.argv[1:] if arg.isdigit()]
SECONDS = (SIZES + [3])[0]


@case
def a_stopped_holder_still_holds(t):
    holder = t.hold("a", script="while ! test -e $D/end; do sleep 0.05; done; exit 8")
    waiters = [t.start("run", "-q", "a", "--", "sh", "-c", "echo >>$D/ran") for _ in range(3)]
    t.waiting("a", 3)
    holder.send_signal(signal.SIGSTOP)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        t.true(not t.path("ran").exists(), "a waiter ran")
        t.equal(t.run("try", "-q", "a", "true").code, 75)
        time.sleep(0.1)
    holder.send_signal(signal.SIGCONT)
    t.path("end").touch()
    t.equal(t.finish(holder).code, 8)
    for waiter in waiters:
        t.equal(t.finish(waiter).code, 0)
    t.equal(len(t.path("ran").read_text().splitlines()), 3)


main()
