#!/usr/bin/env -S python3 -B
"""kinds.py - shared and exclusive, slots, weights, claims."""
from hf import *


@case
def readers_share_and_writers_do_not(t):
    one, two = t.hold("a", "-s"), t.hold("a", "-s")
    t.equal(t.run("run", "-n", "-x", "a", "true").code, 75)
    writer = t.start("run", "-x", "a", "--", "sh", "-c", "echo w >>$D/order")
    t.waiting("a", 1)
    late = t.start("run", "-s", "a", "--", "sh", "-c", "echo r >>$D/order")
    t.waiting("a", 2)
    t.end(one)
    t.end(two)
    t.finish(writer)
    t.finish(late)
    t.equal(t.path("order").read_text().split(), ["w", "r"])


@case
def a_name_is_of_one_kind_at_a_time(t):
    reader = t.hold("a", "-s")
    done = t.run("run", "-n", "a", "true")
    t.equal(done.code, 64)
    t.one_line(done.err)
    t.contains(done.err, "kind")
    t.end(reader)
    t.equal(t.run("run", "-n", "a", "true").code, 0)


@case
def slots_are_distinct_and_limited(t):
    holders = [t.hold("a", "--slots", "3", script="echo $HOLDFAST_SLOT >>$D/slots; sleep 1000")
               for _ in range(3)]
    t.until("all have told", lambda: len(t.path("slots").read_text().split()) == 3)
    t.equal(sorted(t.path("slots").read_text().split()), ["0", "1", "2"])
    done = t.run("run", "-n", "--slots", "3", "a", "true")
    t.equal(done.code, 75)
    t.contains(done.err, "and 2 others")
    freed = t.path("slots").read_text().split()[1]
    t.end(holders[1])
    t.equal(t.run("run", "--slots", "3", "a", "--", "sh", "-c", "echo $HOLDFAST_SLOT").out.strip(),
            freed)
    for holder in (holders[0], holders[2]):
        t.end(holder)


@case
def weights_count(t):
    heavy = t.hold("a", "--slots", "3", "--weight", "2")
    t.equal(t.run("run", "-n", "--slots", "3", "--weight", "2", "a", "true").code, 75)
    t.equal(t.run("run", "-n", "--slots", "3", "a", "true").code, 0)
    t.end(heavy)


@case
def a_claim_has_no_queue(t):
    holder = t.hold("a", "--claim")
    t.equal(t.run("run", "-n", "--claim", "a", "true").code, 75)
    waiter = t.start("run", "--claim", "a", "--", "echo", "mine")
    t.until("it waits", lambda: time.monotonic() > waiter.begin + 0.2)
    t.equal(t.show("a")["waiters"], [])
    t.end(holder)
    t.equal(t.finish(waiter).out, "mine\n")


main()
