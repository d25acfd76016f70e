#!/usr/bin/env -S python3 -B
"""scripts_kept - what the Lua files of the Redis store keep, and where: fields that no name can
meet, the layout, the clock, memory that runs out, and very many places.

    test/redis/scripts_kept.py [FOLDER] [CASE ...]

FOLDER, where programs are built, does not matter here.
"""
import itertools

from cases import *  # noqa: F403
import redis
import resp
import tap
from model import HEAD

HOUR = 3_600_000_000  # microseconds


# ---- Fields --------------------------------------------------------------------------------


def all_ends(keys):
    """Every end of every key that could be a name."""
    ends = {key[i:] for key in keys for i in range(len(key))}
    return {end for end in ends if end and "\n" not in end and "/" not in end}


@case
def no_name_meets_a_field_of_ours():
    """Whatever a name is, the fields of its line are new ones, and no others change by it."""
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    b.enter(1, "m")
    a.enter(2, "s", 1, "3")
    a.take(3, "c")
    b.watch("m")
    b.anybody("ask", "m", "1" * 16)
    before = there.fields()
    names = all_ends(before) | all_ends(["hold"]) | all_ends(there.members())
    assert {"ast", "tl", "old", "poch", "un", "ayout"} <= names
    for id, name in enumerate(sorted(names), 10):
        if name in ("m", "s", "c"):
            continue
        were = there.fields()
        held = a.enter(id, name)
        assert held.state == "g", (name, held)
        assert b.enter(id, name).state == "w" and b.watch(name)[:2] == [0, 0], name
        now = there.fields()
        new = {f"l\n{name}", f"w\n{name}"} | {f"t\n{s.sid}:{id}" for s in (a, b)}
        assert set(now) - set(were) == new | {f"k\n{b.sid}:{id}"}, name
        changed = {key for key in were if were[key] != now[key]}
        assert changed == {"last"} and int(now["last"]) > int(were["last"]), (name, changed)
        assert b.leave(id, name) == [0, 0] and a.leave(id, name) == [0, 0]
    after = there.fields()
    assert set(after) - {f"n\n{b.sid}"} == set(before) and int(after["last"]) > int(before["last"])


# ---- The layout ----------------------------------------------------------------------------


def left_alone(there, change):
    """Data of another version are told of, and nothing is changed."""
    a = there.session()
    a.enter(1, "m")
    change()
    before = there.fields(), there.members(), there.keys()
    for session in (Session(there), a):
        reply = session.hello(hold=TTL)
        assert reply[0] == 7 and reply[2] == LAYOUT, reply
    assert before == (there.fields(), there.members(), there.keys())
    return reply[1]


@case
def data_of_a_later_layout_are_left_alone():
    there = space()
    assert left_alone(there, lambda: there.link.call("HSET", there.state, "layout", "99")) == 99


@case
def data_that_tell_no_layout_are_left_alone():
    there = space()
    assert left_alone(there, lambda: there.link.call("HDEL", there.state, "layout")) == 0


@case
def the_layout_is_told_again_when_all_is_lost():
    there = space()
    a = there.session()
    assert there.fields()["layout"] == str(LAYOUT)
    there.lose()
    a.hello(hold=TTL)
    assert there.fields()["layout"] == str(LAYOUT)


def make_older(there):
    there.link.call("HSET", there.state, "layout", LAYOUT - 1)


@case
def an_older_layout_is_left_alone_while_a_session_of_it_lives():
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    assert left_alone(there, lambda: make_older(there)) == LAYOUT - 1
    assert b.bye() == [0]
    code, layout, ours, count, left = Session(there).hello()
    assert (code, layout, ours) == (7, LAYOUT - 1, LAYOUT)
    assert count == 2 and 0 < left <= TTL, (count, left)  # of left_alone(), too


@case
def an_older_layout_is_replaced_once_nobody_lives_in_it():
    """At once, for nobody holds anything; and tokens do not fall."""
    there = space()
    a = there.session(history=[10])
    high = there.now() + HOUR
    there.link.call("HSET", there.state, "last", f"{high:016}")
    a.enter(1, "m")
    make_older(there)
    there.kill(a)
    b = Session(there)
    assert b.hello(hold=TTL)[::2] == [0, 0, TTL, str(high + 1)], "a hold-off"
    assert b.history() is None and there.holders("m") == []
    assert there.fields()["layout"] == str(LAYOUT)
    held = b.enter(1, "m")
    assert held.state == "g" and int(held.seq) > high + 1
    assert a.enter(2, "m").code == 1  # which tells it to say hello: its own would be refused


@case
def an_older_layout_of_another_server_is_replaced_with_a_hold_off():
    """Sessions of it may live that this server does not know."""
    there = space()
    a = there.session()
    make_older(there)
    there.lose(there.keep())
    there.kill(a)
    assert TTL // 2 < Session(there).hello(ttl=1000, hold=TTL)[2] <= TTL


# ---- The longest lease ---------------------------------------------------------------------


def restarted(there, **more):
    """For how long nobody is granted anything, says a new client of a server that lost data."""
    there.lose(there.keep())
    reply = Session(there).hello(**more)
    assert reply[0] == 0, reply
    return reply[2]


@case
def who_looks_makes_no_hold_off_longer():
    there = space()
    a = there.session()
    b = Session(there)
    assert b.hello(ttl=HOUR, looks=True)[4] == TTL
    assert a.renew()[4] == TTL and b.renew(ttl=HOUR)[4] == TTL
    end = int(there.fields("s")[b.sid].split()[0])
    assert end - there.now() > HOUR - TTL, "its own lease is none the shorter"
    assert TTL // 2 < restarted(there) <= TTL
    assert restarted(there, ttl=HOUR, looks=True) <= TTL
    assert TTL // 2 < Session(there).hello()[2] <= TTL


@case
def a_lease_that_nobody_has_any_more_is_forgotten():
    there = space()
    a, b, c = there.session(), there.session(ttl=HOUR), there.session(ttl=2 * HOUR)
    c.enter(1, "m", note="a long one")
    assert a.renew()[4] == 2 * HOUR and "a long one" in a.examine()[12]
    there.kill(c)
    assert a.renew()[0] == 0 and a.renew()[4] == HOUR and a.examine()[5::7] == [HOUR, ""]
    assert b.bye() == [0]
    assert a.renew()[4] == TTL
    assert TTL // 2 < restarted(there) <= TTL


@case
def who_looks_first_at_a_young_server_decides_nothing():
    there = space()
    look = Session(there)
    assert look.hello(ttl=HOUR, hold=HOUR, looks=True)[2] == 0 and look.examine()[13] == 1
    a = Session(there)
    assert 0 < a.hello(hold=TTL)[2] <= TTL, "the first that locks decides"
    assert a.enter(1, "m").state == "w"
    b = Session(there)
    assert 0 < b.hello(ttl=HOUR, hold=HOUR)[2] <= TTL and b.enter(1, "m").state == "w"


@case
def who_looks_first_in_a_new_namespace_costs_nothing():
    there = space()
    look = Session(there)
    assert look.hello(hold=0, looks=True)[2] == 0 and look.examine()[13] == 0
    assert there.session().enter(1, "m").state == "g" and look.renew()[0] == 0


@case
def who_looks_first_after_a_loss_decides_nothing():
    there = space()
    there.session().bye()
    there.lose(there.keep())
    look = Session(there)
    assert look.hello(looks=True)[2] == 0
    a = Session(there)
    assert TTL // 2 < a.hello()[2] <= TTL
    assert look.renew() == [1] and a.renew()[0] == 0
    assert look.hello(looks=True)[0] == 0 and a.renew()[0] == 0


@case
def a_second_loss_makes_no_hold_off_shorter():
    there = space()
    there.lose()
    assert HOUR // 2 < Session(there).hello(longest=HOUR, hold=HOUR)[2] <= HOUR
    assert HOUR // 2 < restarted(there) <= HOUR


# ---- Who the server is ---------------------------------------------------------------------


@case
def a_first_replica_is_no_loss():
    """The replication id changes, though nothing was lost: every backup is such a replica."""
    there = space()
    a = there.session()
    before = there.link.info("replication")["master_replid"]
    with redis.standalone() as other, other.client() as link:
        link.call("REPLICAOF", "127.0.0.1", tap.servers[0].port)
        redis.until("it follows", lambda: "master_link_status:up" in link.call("INFO", "replication"))
    assert there.link.info("replication")["master_replid"] != before
    assert a.renew()[0] == 0 and there.session().enter(1, "m").state == "g"


# ---- The clock -----------------------------------------------------------------------------


def set_back(there, step=HOUR):
    """As if the clock had been set back: what is kept of it is as much ahead."""
    fields = there.fields()
    for sid, text in there.fields("s").items():
        end, connection = text.split()
        later = f"{int(end) + step:016}"
        there.link.call("ZREM", there.order, f"e{end}{sid}")
        there.link.call("ZADD", there.order, 0, f"e{later}{sid}")
        there.link.call("HSET", there.state, f"s\n{sid}", f"{later} {connection}")
    if "hold" in fields:
        end, length = fields["hold"].split()
        there.link.call("HSET", there.state, "hold", f"{int(end) + step} {length}")
    there.link.call("HSET", there.state, "last", f"{int(fields['last']) + step:016}")


@case
def a_hold_off_that_is_over_stays_over():
    there = space()
    a = there.session()
    there.lose(there.keep())
    assert a.hello()[2] > 0
    there.end_hold()
    assert a.renew()[3] == 0
    set_back(there)
    assert a.renew()[3] == 0 and a.enter(1, "m").state == "g"


@case
def a_hold_off_does_not_grow():
    there = space()
    a = there.session()
    there.lose(there.keep())
    assert 0 < a.hello()[2] <= TTL
    set_back(there)
    assert 0 < a.renew()[3] <= TTL
    assert 0 < there.session().hello()[2] <= TTL


@case
def a_dead_session_does_not_live_longer_than_the_longest_lease():
    there = space()
    a, *dead = sessions(there, 12)
    held = dead[0].enter(1, "m")
    claim = dead[0].take(2, "c")
    assert held.state == claim.state == "g"
    set_back(there)
    there.link.call("PEXPIRE", there.claim("c"), HOUR // 1000)
    assert a.renew()[0] == 0 and a.renew()[0] == 0  # a few at a time
    ends = [int(text.split()[0]) - there.now() for text in there.fields("s").values()]
    assert max(ends) <= TTL, ends
    assert sorted(there.members("e")) == sorted(
        f"e{text.split()[0]}{sid}" for sid, text in there.fields("s").items())
    there.kill(*dead)
    assert a.enter(1, "m").state == "g" and int(a.token) > int(held.seq)
    assert a.take(2, "c").state == "g"  # its key would have stayed


# ---- Keys that do not fit together ---------------------------------------------------------


@case
def without_the_order_nobody_is_passed_over():
    there = space()
    a, b, c = sessions(there, 3)
    held, waiting = a.enter(1, "m"), b.enter(1, "m")
    there.link.call("DEL", there.order)
    later = c.enter(1, "m")
    assert later.state == "w" and int(later.seq) > int(waiting.seq)
    assert a.leave(1, "m") == [0, 0]
    assert there.holders("m") == [] and there.messages() == []
    assert c.read(1, "m").code == 1 and b.read(1, "m").code == 1
    for session, place in ((c, later), (b, waiting)):
        session.come_back((1, place, "1", "m", ""))
    there.end_hold()
    assert c.read(1, "m").state == "w" and there.holders("m") == [f"{b.sid}:1"]


# ---- Memory --------------------------------------------------------------------------------


def full(there, yes):
    there.link.call("CONFIG", "SET", "maxmemory", 1 if yes else 0)


@case
def a_full_server_loses_nothing():
    there = space()
    a, b = sessions(there)
    held, claim, waiting = a.enter(1, "m"), a.take(2, "c"), b.enter(1, "m")
    places = (1, held, "1", "m", ""), (2, claim, "1c", "c", "")
    full(there, True)
    try:
        for attempt in (lambda: Session(there).hello(), lambda: a.enter(3, "n")):
            try:
                attempt()
            except resp.Error as error:
                assert "OOM" in str(error), error
            else:
                raise AssertionError("it is not full")
        assert a.renew((2, "c", claim.seq))[::6] == [0]
        assert a.hello()[0] == 0 and b.hello()[0] == 0  # on a new connection
        assert a.call("read", "m", 1, id=1)[1] == "g"
        full(there, False)
        there.lose(there.keep())
        full(there, True)
        assert b.hello()[0] == 0 and b.mend((1, waiting, "1", "m", "")) == [0, 0, 0]
        assert a.hello()[0] == 0 and a.mend(*places) == [0, 0, 0]
        full(there, False)
        there.end_hold()
        full(there, True)
        assert b.call("read", "m", 0, id=1)[1] == "w"
        assert a.leave(1, "m") == [0, 0] and there.holders("m") == [f"{b.sid}:1"]
        assert a.leave(2, "c", claim=True) == [0, 0] and b.bye() == [0]
    finally:
        full(there, False)


# ---- Very many places ----------------------------------------------------------------------


def crowd(there, count):
    a = there.session()
    a.enter_many(range(1, count + 1), "x", 1, str(MANY))
    return a


@case
def a_session_with_many_places_is_ended_in_pieces():
    there = space()
    b = there.session()
    a = crowd(there, 1000)
    there.kill(a)
    left, calls = [], []
    for _ in itertools.count():
        there.link.call("CONFIG", "RESETSTAT")
        reply = b.renew()
        stats = there.link.info("commandstats")
        calls.append(sum(int(text.split(",")[0][6:]) for text in stats.values()))
        left.append(len(there.members("o")))
        if not left[-1]:
            break
        assert reply[2] == 1, "somebody who waits would not look again at once"
    assert max(calls) < 2500 and left == [800, 600, 400, 200, 0], (left, calls)
    assert b.renew()[0] == 0
    assert a.sid not in there.fields("s") and b.enter(1, "x", 1, "7").state == "g"


@case
def who_leaves_many_places_says_bye_until_they_are_ended():
    there = space()
    a = crowd(there, 500)
    for left in (300, 100, 0):
        assert a.bye() == ([0, 1] if left else [0]) and len(there.members("o")) == left
        if left == 100:
            there.kill(a)  # it was slow: it is dead, but nobody has noticed
    assert a.sid not in there.fields("s") and a.bye() == [2]


@case
def who_says_bye_only_once_leaves_many_places_to_others():
    there = space()
    b = there.session()
    a = crowd(there, 1000)
    assert a.bye() == [0, 1]
    assert int(there.fields("s")[a.sid].split()[0]) - there.now() <= SOON
    assert len(there.members("o")) == 800
    there.kill(a)
    assert a.renew() == [2]
    while there.members("o"):
        assert b.renew()[0] == 0
    assert b.renew()[0] == 0 and a.sid not in there.fields("s")
    b.bye()
    assert set(there.fields()) == HEAD and not there.members()


@case
def places_are_put_down_again_in_pieces():
    there = space()
    a = there.session()
    ids = sorted(range(1, 26), key=str)
    held = {id: a.enter(id, f"n{id}") for id in ids}
    kept = there.keep()
    a.leave(3, "n3")
    a.leave(12, "n12")
    there.lose(kept)
    a.hello()
    ours = [id for id in ids if id not in (3, 12)]
    back = [0, 0]
    for start in range(0, len(ours), 4):
        piece = ours[start:start + 4]
        reply = a.mend(*((id, held[id], "1", f"n{id}", "") for id in piece),
                       after=ours[start - 1] if start else "",
                       up_to=piece[-1] if start + 4 < len(ours) else "")
        assert reply[0] == 0
        back = [x + y for x, y in zip(back, reply[1:])]
    assert back == [0, 2], back
    there.end_hold()
    for id in ids:
        assert there.holders(f"n{id}") == ([f"{a.sid}:{id}"] if id in ours else [])


@case
def what_was_left_meanwhile_is_taken_away_in_pieces():
    there = space()
    a = crowd(there, 500)
    held = a.read(7, "x")
    there.lose(there.keep())
    a.hello()
    ours = 7, held, str(MANY), "x", ""
    replies = [a.mend(ours) for _ in range(3)]
    assert replies[0][:2] == [0, 0] and [r[3:] for r in replies] == [[1], [1], []], replies
    assert sum(r[2] for r in replies) == 499, replies
    there.end_hold()
    assert there.holders("x") == [f"{a.sid}:7"]


main()
