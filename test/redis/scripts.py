#!/usr/bin/env -S python3 -B
"""scripts - the Lua files of the Redis store on a real server, beside a model of them.

    test/redis/scripts.py [FOLDER] [--steps N] [--seed N] [--time] [CASE ...]

FOLDER, where programs are built, does not matter here.  --time tells how long the server
works for a call.  See lines.py, model.py and losing.py.
"""
import argparse
import inspect
import os
import random
import sys
import time
import traceback

from lines import MANY, TTL, Session, Space
from losing import Losing
from model import HEAD, Model

import redis  # test/server/redis.py

CASES = []
options = server = None


def case(function):
    CASES.append(function)
    return function


def space(**more):
    return Space(server.path, **more)


def sessions(there, count=2):
    return [there.session() for _ in range(count)]


def walk(kind, steps):
    seed = options.seed if options.seed is not None else random.randrange(10**6)
    print(f"# --seed {seed} --steps {steps}")
    model = kind(server.path, random.Random(seed))
    for i in range(steps):
        try:
            model.step()
        except BaseException:
            print(f"# at step {i}")
            raise
    model.finish()


# ---- At random ---------------------------------------------------------------------------


@case
def random_steps_do_what_the_model_does():
    walk(Model, options.steps)


@case
def so_they_do_on_servers_that_lose_data():
    walk(Losing, options.steps // 2)


# ---- Sessions ----------------------------------------------------------------------------


@case
def what_an_old_connection_sends_is_refused():
    there = space()
    a = there.session()
    a.hello()
    for script, args in (("enter", [1, "m", 1, "1", 0, 0, ""]), ("leave", [1, "m"]),
                         ("read", [1, "m", 0]), ("amend", [1, "m", 1]), ("watch", ["m", 0]),
                         ("reach", ["break", "m", "1", ""]), ("list", []), ("look", []),
                         ("renew", [TTL]), ("bye", []), ("mend", [])):
        assert a.call(script, *args, connection=1) == [3], script
    assert a.hello(connection=1) == [3]
    a.connection = 2
    assert a.renew()[0] == 0


@case
def a_first_hello_that_comes_late_is_refused():
    there = space()
    a = Session(there)
    assert a.hello(connection=2)[0] == 0
    late = Session(there, a.sid)
    assert late.hello(connection=1) == [3]
    assert a.renew()[0] == 0


@case
def an_ended_session_is_refused():
    there = space()
    a, b = sessions(there)
    assert a.enter(1, "m").state == "g"
    there.kill(a)
    for reply in (a.enter(2, "m"), a.read(1, "m"), a.leave(1, "m"), a.renew(), a.bye(), a.list(),
                  a.watch("m"), a.mend(), a.reach("prove", "m", "1"), a.amend(1, "m", 1), a.hello()):
        assert reply[0] == 2, reply
    assert b.enter(1, "m").state == "g"


@case
def the_dead_are_in_nobodys_way():
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    there.kill(a)
    assert b.enter(1, "m", only_free=1).state == "g"
    a = there.session()
    a.enter(1, "other", 1, "3")
    there.kill(a)
    assert b.enter(2, "other", 1, "1").state == "g"


@case
def a_short_session_ends_by_itself():
    there = space()
    a, b = Session(there), there.session()
    a.hello(ttl=20_000)
    assert a.enter(1, "m").state == "g" and a.take(2, "c").state == "g"
    waiting = b.enter(1, "m")
    assert waiting.state == "w" and 0 < waiting.patience <= 20_000, waiting
    refused = b.take(2, "c")
    assert refused.state == "r" and 0 < refused.slot <= 20_000, refused
    time.sleep(0.025)
    assert b.read(1, "m").state == "g" and b.take(2, "c").state == "g"


@case
def many_that_ended_are_cleared_away_by_and_by():
    there = space()
    many = sessions(there, 20)
    for session in many:
        session.enter(1, "m")
    a = there.session()
    there.kill(*many)
    left = []
    for _ in range(3):
        a.renew()
        left.append(len(there.members("e")))
    assert left == [13, 5, 1], left
    assert a.enter(1, "m").state == "g"
    a.bye()
    assert set(there.fields()) == HEAD and not there.members()


@case
def who_watched_and_ended_leaves_nothing():
    there = space()
    a, b, c = sessions(there, 3)
    for session in (a, b):
        assert session.watch("m")[:2] == [0, 0]
    a.bye()
    assert there.members("w") == [f"wm\n{b.sid}"]
    there.kill(b)
    c.renew()
    assert c.enter(1, "m").state == "g"
    assert there.messages() == []
    c.bye()
    assert set(there.fields()) == HEAD and not there.members()


# ---- Claims ------------------------------------------------------------------------------


@case
def a_claim_is_a_plain_key():
    there = space()
    a, b = sessions(there)
    taken = a.take(1, "c")
    key = there.claim("c")
    assert taken.state == "g" and there.link.call("GET", key) == f"{a.sid}:1:{taken.seq}"
    assert 0 < there.link.call("PTTL", key) <= TTL // 1000
    refused = b.take(1, "c")
    assert refused[2:4] == ("r", taken.seq)
    assert b.watch("c", 0, taken.seq)[:2] == [0, 0]
    there.link.call("PEXPIRE", key, 5000)
    assert a.renew((1, "c", taken.seq))[4:] == []
    assert there.link.call("PTTL", key) > 5000
    assert b.reach("break", "c", taken.seq) == [0]
    assert there.link.call("EXISTS", key) == 0
    assert b.take(2, "c").state == "g"
    assert a.leave(1, "c", claim=True) == [0, 1] and there.link.call("EXISTS", key) == 1


@case
def a_strangers_claim_counts():
    there = space()
    a = there.session()
    key = there.claim("c")
    there.link.call("SET", key, "somebody", "PX", 5000)
    refused = a.take(1, "c")
    assert refused[2:4] == ("r", "0") and 4_000_000 < refused.slot <= 5_000_000, refused
    assert 4_000_000 < a.list("c")[2] <= 5_000_000
    reply = a.watch("c", 0, "0")
    assert reply[:2] == [0, 0] and 4_000_000 < reply[3] <= 5_000_000, reply
    there.link.call("PERSIST", key)
    assert a.take(2, "c").slot == 1_000_000
    there.link.call("DEL", key)
    assert a.watch("c", 0, "0") == [0, 1]
    mine = a.take(3, "c")
    assert mine.state == "g"
    there.link.call("SET", key, "somebody")  # by force
    assert a.renew((3, "c", mine.seq))[4:] == ["3"]
    assert a.read(3, "c").state == "-" and there.holders("c") == []
    assert a.leave(3, "c", claim=True) == [0, 1]
    assert there.link.call("GET", key) == "somebody"
    assert a.bye((3, "c", mine.seq)) == [0] and there.link.call("GET", key) == "somebody"


# ---- Data are lost -----------------------------------------------------------------------


@case
def all_data_lost_while_held():
    there = space()
    a, b, c = sessions(there, 3)
    held, waiting = a.enter(1, "m"), b.enter(1, "m")
    there.lose("run1")
    assert a.renew() == [1] and c.enter(1, "m").code == 1
    reply = c.hello(hold=TTL)
    assert a.renew() == [1] and b.read(1, "m").code == 1  # the run id is the same as before
    assert reply[0] == 0 and 0 < reply[2] <= TTL and reply[5] <= TTL, reply
    first = c.enter(1, "m")  # before the others are back
    assert first.state == "w" and first.ahead == 0 and int(first.seq) > int(waiting.seq)
    assert c.enter(2, "m", only_free=1).state == "r"
    assert b.hello(hold=TTL)[0] == 0 and b.mend((1, waiting, "1", "m", "x")) == [0, 1, 0]
    assert a.hello(hold=TTL)[0] == 0 and a.mend((1, held, "1", "m", "")) == [0, 1, 0]
    assert there.holders("m") == [f"{a.sid}:1"]
    assert b.read(1, "m")[2:4] == ("w", waiting.seq) and there.messages() == []
    there.end_hold()
    assert c.read(1, "m")[2:9:5] == ("w", 2) and there.messages() == []
    assert a.leave(1, "m") == [0, 0]
    assert [text[:3] for _, text in there.messages()] == ["g 1"]
    assert there.holders("m") == [f"{b.sid}:1"]


@case
def a_waiter_may_be_read_when_nothing_else_is_known():
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    waiting = b.enter(1, "m")
    there.lose("run1")
    b.hello(hold=TTL)
    b.mend((1, waiting, "1", "m", ""))
    assert b.read(1, "m")[2:4] == ("w", waiting.seq)


@case
def a_new_namespace_need_not_wait():
    there = space()
    reply = Session(there).hello()
    assert reply[2] == 0
    assert there.session().enter(1, "m").state == "g"


@case
def another_server_with_the_same_data():
    there = space()
    a, b, c = sessions(there, 3)
    held, waiting, given_back = a.enter(1, "m"), b.enter(1, "m"), a.enter(2, "n")
    there.lose("run2", there.keep())
    c.run = there.run  # asked of the server when connecting to it
    assert c.renew() == [1] and c.enter(1, "n").code == 1
    for session in (c, a, b):
        reply = session.hello()  # there are data: the hold-off is not ours to choose
        assert reply[0] == 0 and TTL // 2 < reply[2] <= TTL, reply
    assert a.mend((1, held, "1", "m", "")) == [0, 0, 1]
    assert b.mend((1, waiting, "1", "m", "")) == [0, 0, 0]
    assert given_back.state == "g" and there.holders("n") == []
    assert c.enter(1, "n").state == "w"
    there.end_hold()
    assert c.read(1, "n").state == "g"
    assert a.read(1, "m").state == "g" and b.read(1, "m").state == "w"
    there.messages()
    a.leave(1, "m")
    assert [sid for sid, _ in there.messages()] == [b.sid]


@case
def the_last_writes_are_lost():
    """a gave it back and b got it; then a server takes over that has not heard of it."""
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    waiting = b.enter(1, "m")
    kept = there.keep()
    a.leave(1, "m")
    held = b.read(1, "m")
    later = b.enter(2, "n")
    assert held.state == later.state == "g"
    there.lose("run2", kept)
    b.hello()
    assert b.mend((1, held, "1", "m", ""), (2, later, "1", "n", "")) == [0, 1, 0]
    a.hello()
    assert a.mend() == [0, 0, 1]
    there.end_hold()
    assert a.enter(3, "m").state == "w" and a.enter(4, "n").state == "w"
    assert there.holders("m") == [f"{b.sid}:1"] and there.holders("n") == [f"{b.sid}:2"]
    assert held.seq == waiting.seq and b.read(1, "m").seq == held.seq


@case
def an_unanswered_enter_is_left_as_it_is():
    there = space()
    a = there.session()
    held = a.enter(1, "m")
    there.lose("run2", there.keep())
    a.hello()
    unknown = held._replace(seq="0", state="w")
    assert a.mend((1, unknown, "1", "m", ""), (2, unknown, "1", "n", "")) == [0, 0, 0]
    assert a.enter(1, "m")[2:4] == ("g", held.seq) and a.read(2, "n").state == "-"


@case
def who_comes_too_late_has_lost():
    there = space()
    a, b = sessions(there)
    held = a.enter(1, "m")
    there.lose("run1")
    b.hello(hold=TTL)
    there.end_hold()
    assert a.hello() == [2]
    b.enter(1, "m")
    there.lose("run2", there.keep())
    b.hello()
    there.end_hold()
    assert b.mend((1, held, "1", "m", "")) == [2]


@case
def one_who_leaves_takes_nothing_from_the_others():
    """Readers; two come back, one leaves while lines are not counted."""
    there = space()
    a, b, c = sessions(there, 3)
    held = [session.enter(1, "rw", 1, str(MANY)) for session in (a, b)]
    there.lose("run1")
    for session, place in zip((a, b), held):
        session.hello(hold=TTL)
        session.mend((1, place, str(MANY), "rw", ""))
    a.leave(1, "rw")
    there.end_hold()
    c.hello()
    c = there.session()
    assert c.enter(1, "rw", MANY, str(MANY)).state == "w"
    b.leave(1, "rw")
    assert c.read(1, "rw").state == "g"
    c.leave(1, "rw")
    assert not there.members("h") and "lrw" not in there.fields()


@case
def weights_are_lessened_where_nothing_is_counted():
    there = space()
    a, b = sessions(there)
    held, waiting = a.enter(1, "s", 3, "4"), b.enter(1, "s", 2, "4")
    there.lose("run1")
    a.come_back((1, held, "4", "s", ""))
    assert a.amend(1, "s", 2)[2:7:4] == ("g", 2)
    b.come_back((1, waiting, "4", "s", ""))
    assert b.read(1, "s").state == "w"
    there.end_hold()
    assert a.amend(1, "s", 1)[2:7:4] == ("g", 1)  # the first to touch the line
    assert b.read(1, "s")[2:5:2] == ("g", 1)
    assert there.session().enter(1, "s", 2, "4").state == "w"


@case
def who_dies_in_a_hold_off_is_dead():
    there = space()
    a = there.session()
    held = a.enter(1, "m")
    there.lose("run1")
    a.come_back((1, held, "1", "m", ""))
    there.kill(a)
    assert a.hello(hold=TTL) == [2] and there.holders("m") == []


@case
def slots_stay_with_their_holders():
    there = space()
    a, b, c = sessions(there, 3)
    places = [s.enter(i, "s", 1, "4") for i, s in ((1, a), (2, b), (3, a), (4, c))]
    assert [p.slot for p in places] == [0, 1, 2, 3]
    there.lose("run1")
    a.hello(hold=TTL)
    assert a.mend((3, places[2], "4", "s", "")) == [0, 1, 0]
    d = there.session()
    assert [d.enter(i, "s", 1, "4").state for i in (1, 2, 3, 4)] == ["w"] * 4
    there.end_hold()
    assert [d.read(i, "s")[2:5:2] for i in (1, 2, 3, 4)] == [("g", 0), ("g", 1), ("g", 3), ("w", -1)]
    a.leave(3, "s")
    assert d.read(4, "s")[2:5:2] == ("g", 2)


@case
def claims_are_put_back():
    there = space()
    a, b = sessions(there)
    held = [a.take(i, f"c{i}") for i in (1, 2)]
    there.lose("run1")
    b.hello(hold=TTL)
    there.link.call("SET", there.claim("c2"), "somebody", "PX", 5000)  # did not wait
    assert b.take(1, "c1").state == "r"
    a.hello(hold=TTL)
    a.mend(*((i, held[i - 1], "1c", f"c{i}", "") for i in (1, 2)))
    assert there.link.call("GET", there.claim("c1")) == f"{a.sid}:1:{held[0].seq}"
    assert there.link.call("GET", there.claim("c2")) == "somebody"
    there.end_hold()
    assert b.take(1, "c1").state == "r"
    assert a.renew(*((i, f"c{i}", held[i - 1].seq) for i in (1, 2)))[4:] == ["2"]
    a.leave(1, "c1", claim=True)
    assert b.take(2, "c1").state == "g"


@case
def what_was_broken_does_not_come_back():
    there = space()
    a, b = sessions(there)
    held, waiting = a.enter(1, "m"), b.enter(1, "m")
    b.reach("break", "m", held.seq)
    there.messages()
    there.lose("run2", there.keep())
    a.hello()
    a.mend((1, held, "1", "m", ""))
    assert [text for _, text in there.messages()] == ["b 1"]
    b.hello()
    b.mend((1, waiting._replace(state="g"), "1", "m", ""))
    assert there.holders("m") == [f"{b.sid}:1"]
    assert a.leave(1, "m") == [0, 1]


@case
def tokens_rise_whoever_knows_the_highest():
    """The server's clock is far behind the tokens."""
    there = space()
    a, b = sessions(there)
    high = there.now() + 10**12
    there.link.call("HSET", there.state, "last", f"{high:016}")
    held = a.enter(1, "m")
    assert int(held.seq) == high + 1
    there.lose("run1")
    b.hello(hold=TTL)
    a.hello(hold=TTL)
    a.mend((1, held, "1", "m", ""))
    assert int(b.enter(1, "m").seq) > int(held.seq)


@case
def without_the_order_nobody_else_is_let_in():
    there = space()
    a, b = sessions(there)
    held, slot = a.enter(1, "m"), a.enter(2, "s", 3, "4")
    waiting = b.enter(1, "m")
    there.link.call("DEL", there.order)
    c = there.session()
    assert c.enter(1, "m").state == "w" and c.enter(2, "s", 2, "4").state == "w"
    assert c.read(1, "m").state == "w"
    assert there.holders("m") == [f"{a.sid}:1"] and there.holders("s") == [f"{a.sid}:2"]
    b.renew()  # and notices
    assert a.renew() == [1] and c.read(1, "m").code == 1
    assert c.come_back() == [0, 0, 0]
    assert a.come_back((1, held, "1", "m", ""), (2, slot, "4", "s", "")) == [0, 2, 0]
    assert b.come_back((1, waiting, "1", "m", "")) == [0, 1, 0]
    there.end_hold()
    assert c.enter(3, "m").state == "w" and c.enter(4, "s", 2, "4").state == "w"
    assert there.holders("m") == [f"{a.sid}:1"] and there.holders("s") == [f"{a.sid}:2"]
    assert a.leave(1, "m") == [0, 0] and there.holders("m") == [f"{b.sid}:1"]


@case
def who_passes_it_on_without_the_order_notices():
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    waiting = b.enter(1, "m")
    there.link.call("DEL", there.order)
    assert a.leave(1, "m") == [0, 0] and there.holders("m") == []
    assert b.read(1, "m").code == 1
    b.come_back((1, waiting, "1", "m", ""))
    there.end_hold()
    assert b.read(1, "m").state == "g"


@case
def a_hold_off_is_as_long_as_the_longest_lease():
    """What is left of the data tells; whoever notices may have a short one."""
    there = space()
    a = there.session()
    a.enter(1, "m")
    there.link.call("DEL", there.order)
    a.renew()
    assert Session(there).hello(ttl=1000, hold=1000)[2] == TTL


@case
def without_the_order_on_another_server_holders_put_it_back():
    there = space()
    a, b = sessions(there)
    held = a.enter(1, "m")
    kept = there.keep()
    del kept[there.order]
    there.lose("run2", kept)
    b.come_back()
    a.come_back((1, held, "1", "m", ""))
    there.end_hold()
    assert b.enter(1, "m").state == "w" and there.holders("m") == [f"{a.sid}:1"]


@case
def without_the_state_nobody_is_let_in():
    there = space()
    a, b = sessions(there)
    held = a.enter(1, "m")
    there.link.call("DEL", there.state)
    assert b.enter(1, "m").code == 1
    b.hello(hold=TTL)
    assert there.members("h") == []
    assert b.enter(1, "m").state == "w"
    a.hello(hold=TTL)
    a.mend((1, held, "1", "m", ""))
    there.end_hold()
    assert b.read(1, "m").state == "w" and there.holders("m") == [f"{a.sid}:1"]


# ---- Work --------------------------------------------------------------------------------


def work(there, function):
    """Commands that a function's scripts give."""
    there.link.call("CONFIG", "RESETSTAT")
    function()
    stats = there.link.info("commandstats")
    return {name[8:]: int(text.split(",")[0][6:]) for name, text in stats.items()
            if name not in ("cmdstat_config|resetstat", "cmdstat_info")}


def crowd(count, weight, kind, wall):
    """The work of one more when so many are there; `wall` is the weight that holds."""
    there = space()
    a, b = sessions(there)
    if wall:
        a.enter(1, "x", wall, kind)
    b.enter_many(range(1, count + 1), "x", weight, kind)
    ret = {
        "enter": work(there, lambda: b.enter(count + 1, "x", weight, kind)),
        "read": work(there, lambda: b.read(count // 2, "x")),
        "again": work(there, lambda: b.enter(count // 2, "x", weight, kind)),
        "try": work(there, lambda: b.enter(count + 2, "x", MANY, kind, 1)),
        "renew": work(there, b.renew),
        "hello": work(there, b.hello),
        "watch": work(there, lambda: a.watch("y")),
        "amend": work(there, lambda: b.amend(count + 1, "x", weight)),
        "give up": work(there, lambda: b.leave(count // 2, "x")),
        "leave": work(there, lambda: (a if wall else b).leave(1, "x")),
        "look": work(there, a.look),
    }
    there.lose("end")
    return ret


@case
def the_work_for_a_call_does_not_grow_with_a_line():
    for weight, kind, wall in ((1, "1", 1), (1, str(MANY), 0), (MANY, str(MANY), 1), (1, "2000", 0),
                               (1500, "2000", 1000)):
        few, many = crowd(10, weight, kind, wall), crowd(1000, weight, kind, wall)
        assert few == many, f"{kind}, {weight}:\n{few}\n{many}"


@case
def alone_it_is_a_handful_of_commands():
    there = space()
    a = there.session()
    assert sum(work(there, lambda: a.enter(1, "m")).values()) == 1 + 4
    assert sum(work(there, lambda: a.leave(1, "m")).values()) == 1 + 5


def tell_time():
    """Microseconds that the server works for a call, as it counts them itself."""
    def count(there, function):
        ret = []  # the least of twenty: others work on this machine, too
        for turn in range(20):
            there.link.call("CONFIG", "RESETSTAT")
            for i in range(100 * turn, 100 * turn + 100):
                function(i)
            stats = there.link.info("commandstats")["cmdstat_evalsha"]
            ret.append(float(stats.split(",")[2][len("usec_per_call="):]))
        return min(ret)

    for what, weight, kind, wall, crowd_size in (
            ("alone", 1, "1", 0, 0), ("waiters", 1, "1", 1, 10), ("waiters", 1, "1", 1, 1000),
            ("readers", 1, str(MANY), 0, 10), ("readers", 1, str(MANY), 0, 1000),
            ("a semaphore's", 1, "5000", 0, 10), ("a semaphore's", 1, "5000", 0, 1000)):
        there = space()
        a, b = sessions(there)
        if wall:
            a.enter(1, "x", wall, kind)
        b.enter_many(range(1, crowd_size + 1), "x", weight, kind)
        enter = count(there, lambda i: a.enter(i + 10, "x", weight, kind))
        a.leave_many(range(10, 2010), "x")
        both = count(there, lambda i: (a.enter(i + 9000, "x", weight, kind),
                                       a.leave(i + 9000, "x")))
        renew = count(there, lambda i: a.renew())
        print(f"# {crowd_size:5} {what:14} enter+leave {2 * both:5.1f} us, "
              f"2000 enters {enter:5.1f} us each, renew {renew:5.1f} us")
        there.lose("end")


def run(number, function):
    name = function.__name__.replace("_", " ")
    try:
        function()
        print(f"ok {number} - {name}", flush=True)
        return True
    except Exception:
        for line in traceback.format_exc().splitlines():
            print(f"# {line}")
        print(f"not ok {number} - {name}", flush=True)
        return False


def main():
    global options, server
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--time", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    only = [word for word in options.words if not os.path.isdir(word)]
    cases = [c for c in CASES if not only or any(word in c.__name__ for word in only)]
    try:
        server = redis.standalone()
    except redis.Missing as missing:
        print(f"# SKIP {missing}")
        return 77
    with server:
        if options.time:
            tell_time()
            return 0
        print(f"1..{len(cases)}")
        return 0 if all([run(i + 1, c) for i, c in enumerate(cases)]) else 1


if __name__ == "__main__":
    sys.exit(main())
