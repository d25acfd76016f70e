#!/usr/bin/env -S python3 -B
"""scripts - the Redis scripts on a real server, compared with a model.

    test/redis/scripts.py [FOLDER] [--steps N] [--seed N] [--time] [CASE ...]

FOLDER, where programs are built, does not matter here.  --time prints how long the server
works for a call.  See lines.py, model.py and model_lost_data.py.
"""
import random
import time

from cases import *  # noqa: F403
from model_lost_data import Losing
from model import HEAD, Model


def walk(kind, steps):
    seed = options.seed if options.seed is not None else random.randrange(10**6)
    print(f"# --seed {seed} --steps {options.steps}")
    model = kind(server_path(), random.Random(seed))
    for i in range(steps):
        try:
            model.step()
        except BaseException:
            print(f"# at step {i}")
            raise
    model.finish()


# ---- At random ---------------------------------------------------------------------------


def unnoted(kind):
    """The same without history, and rarely with a watch_store."""
    steps = {**kind.STEPS, "watch_store": 1, "watch_store_no_more": 8}
    return type(kind.__name__, (kind,), {"HISTORY": [], "STEPS": steps})


@case
def random_steps_match_the_model():
    walk(Model, options.steps // 2)
    walk(unnoted(Model), options.steps // 2)


@case
def random_steps_match_the_model_when_data_are_lost():
    walk(Losing, options.steps // 4)
    walk(unnoted(Losing), options.steps // 4)


# ---- Sessions ----------------------------------------------------------------------------


@case
def calls_of_an_older_connection_are_refused():
    there = space()
    a = there.session()
    a.hello()
    assert a.enter(1, "m").state == "g"
    for script, args in (("enter", ["x", 1, "1", 0, "", ""]), ("leave", ["m"]), ("read", ["m", 0]),
                         ("downgrade", ["m", 1])):
        assert a.call(script, *args, id=1, connection=1) == [3], script
    for script, args in (("watch", ["m", 0, 0]), ("break", ["m", "1"]), ("list", []),
                         ("diagnose", []), ("renew", [TTL]), ("bye", []), ("reclaim", ["", ""])):
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
    for reply in (a.enter(2, "m"), a.enter(2, "n"), a.read(1, "m"), a.leave(2, "m"), a.renew(),
                  a.list(), a.watch("m"), a.reclaim(), a.anybody("verify", "m", "1"),
                  a.downgrade(1, "m", 1), a.hello()):
        assert reply[0] == 2, reply
    assert b.enter(1, "m").state == "g"
    assert a.leave(1, "m") == [2]


@case
def an_expired_session_can_still_leave():
    """Its lease is over, but nobody has noticed: the place is still its own."""
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    there.kill(a)
    assert a.leave(1, "m") == [0, 0] and a.leave(1, "m") == [2]
    assert b.enter(1, "m").ahead == 0


@case
def dead_sessions_do_not_block_others():
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    there.kill(a)
    assert b.enter(1, "m", only_free=1).state == "g"
    a = there.session()
    a.enter(1, "other", 1, "3")
    there.kill(a)
    assert b.enter(2, "other", 1, "1").state == "g"
    a = there.session()
    a.enter(1, "again")
    there.kill(a)
    assert b.enter(3, "again").state == "g"


@case
def a_short_session_ends_by_itself():
    there = space()
    a, b = Session(there), there.session()
    a.hello(ttl=500_000)
    assert a.enter(1, "m").state == "g" and a.take(2, "c").state == "g"
    waiting = b.enter(1, "m")
    assert waiting.state == "w" and 0 < waiting.patience <= 500_000, waiting
    refused = b.take(2, "c")
    assert refused.state == "r" and 0 < refused.patience <= 500_000, refused
    time.sleep(0.505)
    assert b.read(1, "m").state == "g" and b.take(2, "c").state == "g"


@case
def many_dead_sessions_are_ended_step_by_step():
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
def a_dead_watcher_leaves_no_data():
    there = space()
    a, b, c = sessions(there, 3)
    for session in (a, b):
        assert session.watch("m")[:2] == [0, 0]
    a.bye()
    assert there.members("w") == [f"wm\n{b.sid}"]
    there.kill(b)
    c.renew()
    assert c.enter(1, "m").state == "g"
    assert there.messages() == [(a.sid, "e")]
    c.bye()
    assert set(there.fields()) == HEAD and not there.members()


@case
def a_dead_store_watcher_is_forgotten():
    """The next client ends it; after that there is nobody to notify."""
    there = space()
    a, b = sessions(there)
    a.watch_store(0)
    assert a.enter(1, "m").state == "g"
    there.kill(a)
    assert b.enter(1, "m").state == "g" and there.holders("m") == [f"{b.sid}:1"]
    assert "watch_store" not in there.fields() and there.changes not in there.keys()


# ---- Claims ------------------------------------------------------------------------------


@case
def a_claim_is_a_plain_key():
    there = space()
    a, b = sessions(there)
    taken = a.take(1, "c")
    key = there.claim("c")
    assert taken.state == "g" and there.link.call("GET", key) == claim_value(f"{a.sid}:1", taken.seq)
    assert 0 < there.link.call("PTTL", key) <= TTL // 1000
    refused = b.take(1, "c")
    assert (refused.state, refused.seq) == ("r", taken.seq)
    assert b.watch("c", 0, taken.seq)[:2] == [0, 0]
    there.link.call("PEXPIRE", key, 5000)
    assert a.renew((1, "c", taken.seq))[6:] == []
    assert there.link.call("PTTL", key) > 5000
    assert b.anybody("break", "c", taken.seq) == [0]
    assert there.link.call("EXISTS", key) == 0
    assert b.take(2, "c").state == "g"
    assert a.leave(1, "c", claim=True) == [0, 1] and there.link.call("EXISTS", key) == 1


@case
def a_claim_of_another_program_counts():
    there = space()
    a = there.session()
    key = there.claim("c")
    there.link.call("SET", key, "somebody", "PX", 5000)
    refused = a.take(1, "c")
    assert (refused.state, refused.seq) == ("r", "0"), refused
    assert refused.patience == 200_000, refused  # look again soon
    assert 4_000_000 < a.list("c")[2] <= 5_000_000
    reply = a.watch("c", 0)
    assert reply[:2] == [0, 0] and reply[3] == 200_000, reply
    there.link.call("PEXPIRE", key, 100)
    assert 0 < a.take(2, "c").patience <= 100_000
    there.link.call("PERSIST", key)
    assert a.take(2, "c").patience == 200_000
    there.link.call("DEL", key)
    assert a.watch("c", 0) == [0, 1]
    mine = a.take(3, "c")
    assert mine.state == "g"
    there.link.call("SET", key, "somebody")  # without NX
    assert a.renew((3, "c", mine.seq))[6:] == ["3"]
    assert a.read(3, "c", claim=True).state == "-" and there.holders("c") == []
    assert a.leave(3, "c", claim=True) == [0, 1]
    assert there.link.call("GET", key) == "somebody"
    assert a.bye("c") == [0] and there.link.call("GET", key) == "somebody"


# What another program may do to the key of our claim, and who has it then.
TAKEN = {"changed": [["SET", "theirs"]], "deleted": [["DEL"]], "expired": [["PEXPIRE", -1]],
         "taken": [["DEL"], ["SET", "theirs", "NX"]],
         "claimed by another place": [["SET", claim_value("0" * 16 + ":1", "1" * 16)]]}


@case
def a_claim_is_ours_only_while_its_key_is():
    """Whichever call is the first one after that."""
    answers = {
        "leave": lambda s, seq: s.leave(1, "c", claim=True) == [0, 1],
        "read": lambda s, seq: s.read(1, "c", claim=True).state == "-",
        "repeated enter": lambda s, seq: s.take(1, "c").state == "-",
        "renew": lambda s, seq: s.renew((1, "c", seq))[6:] == ["1"],
        "verify": lambda s, seq: s.anybody("verify", "c", seq) == [6],
    }
    for how, commands in TAKEN.items():
        for first, is_true in answers.items():
            there = space()
            a, b = sessions(there)
            key, mine = there.claim("c"), a.take(1, "c")
            assert b.anybody("verify", "c", mine.seq) == [0] and mine.state == "g"
            assert a.take(1, "c").seq == mine.seq == a.read(1, "c", claim=True).seq
            for command, *args in commands:
                there.link.call(command, key, *args)
            value = there.link.call("GET", key)
            assert is_true(a, mine.seq), (how, first)
            for _ in range(2):  # the answer was lost
                assert a.leave(1, "c", claim=True) == [0, 1], (how, first)
            assert there.holders("c") == [] and there.link.call("GET", key) == value, (how, first)
            assert b.take(1, "c").state == ("r" if value == "theirs" else "g"), (how, first)


@case
def a_claim_of_another_program_excludes_every_other_kind():
    """With the fast path and without; but it changes nothing for places that are there already."""
    there = space()
    a, b = sessions(there)
    key, kinds = there.claim("c"), (("1", 1), ("5", 2), (str(MANY), 1), (str(MANY), MANY))
    for kind, weight in kinds:
        for watched in (False, True):
            if watched:
                b.watch("c")
            there.link.call("SET", key, "somebody", "PX", 60_000)
            for only_free in (0, 1):
                refused = a.enter(1, "c", weight, kind, only_free)
                assert refused[:2] == (4, "1c") and there.holders("c") == [], (kind, refused)
            there.link.call("DEL", key)
            mine = a.enter(1, "c", weight, kind)
            assert mine.state == "g", (kind, mine)
            waits = b.enter(1, "c", weight, kind) if weight == int(kind) else None
            there.link.call("SET", key, "somebody", "PX", 60_000)
            assert a.enter(1, "c", weight, kind).seq == mine.seq, "the answer was lost"
            assert waits is None or b.enter(1, "c", weight, kind).seq == waits.seq
            assert a.enter(2, "c", weight, kind)[:2] == (4, "1c")
            assert a.leave(1, "c") == [0, 0] and waits is None or b.leave(1, "c") == [0, 0]
            there.link.call("SET", key, claim_value("0" * 16 + ":1", "1" * 16))  # nobody has it
            assert a.enter(1, "c", weight, kind).state == "g", kind
            assert a.leave(1, "c") == [0, 0]


@case
def values_of_other_programs_are_never_taken_for_ours():
    there = space()
    a = there.session()
    key = there.claim("c")
    mine = a.take(1, "c")
    values = ["4711:1:1763400000", "deadbeef:7:42", f"{a.sid}:1:{mine.seq}", "holdfast", "holdfast:",
              "holdfast:4711:1:1763400000", f" {claim_value(f'{a.sid}:1', mine.seq)}",
              f"{claim_value(f'{a.sid}:1', mine.seq)}\n"]
    assert a.leave(1, "c", claim=True) == [0, 0]
    for id, value in enumerate(values, 2):
        there.link.call("SET", key, value, "PX", 10 * TTL)
        assert a.take(id, "c").state == "r", value
        assert a.bye("c") == [0] and there.link.call("GET", key) == value
        assert a.hello() == [2]
        a = there.session()
        there.link.call("DEL", key)
        held = a.take(id, "c")
        there.lose()
        there.link.call("SET", key, value, "PX", 10 * TTL)
        assert a.come_back((id, held, "1c", "c", "")) == [0, 1, 0]
        assert there.link.call("GET", key) == value
        assert a.renew((id, "c", held.seq))[6:] == [str(id)] and there.link.call("GET", key) == value
        there.end_grace()
        there.link.call("DEL", key)


# ---- Work --------------------------------------------------------------------------------


def work(there, function):
    """How many commands the scripts of a function run."""
    there.link.call("CONFIG", "RESETSTAT")
    function()
    stats = there.link.info("commandstats")
    return {name[8:]: int(text.split(",")[0][6:]) for name, text in stats.items()
            if name not in ("cmdstat_config|resetstat", "cmdstat_info")}


def crowd(count, weight, kind, wall):
    """The work for one more place in a line of that length; `wall` is the weight of the holder."""
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
        "downgrade": work(there, lambda: b.downgrade(count + 1, "x", weight)),
        "give up": work(there, lambda: b.leave(count // 2, "x")),
        "leave": work(there, lambda: (a if wall else b).leave(1, "x")),
        "diagnose": work(there, a.diagnose),
    }
    there.lose()
    return ret


@case
def the_cost_of_a_call_does_not_grow_with_the_queue():
    for weight, kind, wall in ((1, "1", 1), (1, str(MANY), 0), (MANY, str(MANY), 1), (1, "2000", 0),
                               (1500, "2000", 1000)):
        few, many = crowd(10, weight, kind, wall), crowd(1000, weight, kind, wall)
        assert few == many, f"{kind}, {weight}:\n{few}\n{many}"


@case
def a_free_lock_takes_a_handful_of_commands():
    there = space()
    a = there.session()
    assert sum(work(there, lambda: a.enter(1, "m")).values()) == 1 + 5
    assert sum(work(there, lambda: a.leave(1, "m")).values()) == 1 + 4


@case
def a_handover_takes_a_dozen_commands():
    there = space()
    a, b = sessions(there)
    assert a.enter(1, "m").state == "g"
    for id in range(2, 20):
        assert sum(work(there, lambda id=id: b.enter(id, "m")).values()) == 1 + 6
    assert sum(work(there, lambda: a.leave(1, "m")).values()) == 1 + 10
    assert b.read(2, "m").state == "g"


def tell_time():
    """Microseconds of server time for a call, by its own count."""
    def count(there, function):
        ret = []  # the minimum of twenty: the machine is shared
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
        there.lose()


def add_options(parser):
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--time", action="store_true")


def instead():
    if options.time:
        tell_time()
    return options.time


main(add_options, instead)
