#!/usr/bin/env -S python3 -B
"""scripts_data - the data of the Redis scripts: no name collides with a field, other layouts,
leases, the clock, a full server.

    test/redis/scripts_data.py [FOLDER] [CASE ...]

FOLDER, where programs are built, does not matter here.
"""

from cases import *  # noqa: F403
import redis
import resp
import tap

HOUR = 3_600_000_000  # microseconds


# ---- Fields --------------------------------------------------------------------------------


def all_ends(keys):
    """Every end of every key, as a possible name."""
    ends = {key[i:] for key in keys for i in range(len(key))}
    return {end for end in ends if end and "\n" not in end and "/" not in end}


@case
def no_lock_name_collides_with_a_field():
    """Whatever the name, its line has fields of its own, and no others change."""
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    b.enter(1, "m")
    a.enter(2, "s", 1, "3")
    a.take(3, "c")
    b.watch("m")
    b.anybody("ask", "m", "1" * 16)
    before = there.fields()
    names = all_ends(before) | all_ends(["grace"]) | all_ends(there.members())
    assert {"ast", "tl", "race", "poch", "un", "ayout"} <= names
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
    """Data of another version are reported, and not changed."""
    a = there.session()
    a.enter(1, "m")
    change()
    before = there.fields(), there.members(), there.keys()
    for session in (Session(there), a):
        reply = session.hello(grace=TTL)
        assert reply[0] == 7 and reply[2] == LAYOUT, reply
    assert before == (there.fields(), there.members(), there.keys())
    return reply[1]


@case
def a_newer_layout_is_left_alone():
    there = space()
    assert left_alone(there, lambda: there.link.call("HSET", there.state, "layout", "99")) == 99


@case
def data_without_a_layout_are_left_alone():
    there = space()
    assert left_alone(there, lambda: there.link.call("HDEL", there.state, "layout")) == 0


@case
def the_layout_is_written_again_after_lost_data():
    there = space()
    a = there.session()
    assert there.fields()["layout"] == str(LAYOUT)
    there.lose()
    a.hello(grace=TTL)
    assert there.fields()["layout"] == str(LAYOUT)


def make_older(there):
    there.link.call("HSET", there.state, "layout", LAYOUT - 1)


@case
def an_older_layout_with_a_live_session_is_left_alone():
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    assert left_alone(there, lambda: make_older(there)) == LAYOUT - 1
    assert b.bye() == [0]
    code, layout, ours, count, left = Session(there).hello()
    assert (code, layout, ours) == (7, LAYOUT - 1, LAYOUT)
    assert count == 2 and 0 < left <= TTL, (count, left)  # of left_alone(), too


@case
def an_older_layout_without_sessions_is_replaced():
    """At once, because nobody holds anything; and tokens do not fall."""
    there = space()
    a = there.session(history=[10])
    high = there.now() + HOUR
    there.link.call("HSET", there.state, "last", f"{high:016}")
    a.enter(1, "m")
    make_older(there)
    there.kill(a)
    b = Session(there)
    assert b.hello(grace=TTL)[::2] == [0, 0, TTL, str(high + 1)], "a grace period"
    assert b.history() is None and there.holders("m") == []
    assert there.fields()["layout"] == str(LAYOUT)
    held = b.enter(1, "m")
    assert held.state == "g" and int(held.seq) > high + 1
    assert a.enter(2, "m").code == 1  # so it says hello, and an older client is refused


@case
def an_older_layout_of_another_server_is_replaced_after_a_grace_period():
    """Sessions may live in it that this server does not know."""
    there = space()
    a = there.session()
    make_older(there)
    there.lose(there.keep())
    there.kill(a)
    assert TTL // 2 < Session(there).hello(ttl=1000, grace=TTL)[2] <= TTL


# ---- The longest lease ---------------------------------------------------------------------


def restarted(there, **more):
    """The grace period that a new client gets on a server that lost data."""
    there.lose(there.keep())
    reply = Session(there).hello(**more)
    assert reply[0] == 0, reply
    return reply[2]


@case
def a_read_only_client_does_not_prolong_the_grace_period():
    there = space()
    a = there.session()
    b = Session(there)
    assert b.hello(ttl=HOUR, read_only=True)[4] == TTL
    assert a.renew()[4] == TTL and b.renew(ttl=HOUR)[4] == TTL
    end = int(there.fields("s")[b.sid].split()[0])
    assert end - there.now() > HOUR - TTL, "its own lease is none the shorter"
    assert TTL // 2 < restarted(there) <= TTL
    assert restarted(there, ttl=HOUR, read_only=True) <= TTL
    assert TTL // 2 < Session(there).hello()[2] <= TTL


@case
def the_lease_of_a_dead_session_no_longer_counts():
    there = space()
    a, b, c = there.session(), there.session(ttl=HOUR), there.session(ttl=2 * HOUR)
    c.enter(1, "m", note="a long one")
    assert a.renew()[4] == 2 * HOUR and "a long one" in a.diagnose()[12]
    there.kill(c)
    assert a.renew()[0] == 0 and a.renew()[4] == HOUR and a.diagnose()[5::7] == [HOUR, ""]
    assert b.bye() == [0]
    assert a.renew()[4] == TTL
    assert TTL // 2 < restarted(there) <= TTL


@case
def a_read_only_client_first_on_a_young_server_decides_nothing():
    there = space()
    look = Session(there)
    assert look.hello(ttl=HOUR, grace=HOUR, read_only=True)[2] == 0 and look.diagnose()[13] == 2
    a = Session(there)
    assert 0 < a.hello(grace=TTL)[2] <= TTL, "the first that locks decides"
    assert a.enter(1, "m").state == "w"
    b = Session(there)
    assert 0 < b.hello(ttl=HOUR, grace=HOUR)[2] <= TTL and b.enter(1, "m").state == "w"


@case
def a_read_only_client_first_in_a_new_namespace_costs_nothing():
    there = space()
    look = Session(there)
    assert look.hello(read_only=True)[2] == 0 and look.diagnose()[13] == 2
    assert there.session().enter(1, "m").state == "g" and look.renew() == [1]


@case
def a_read_only_client_first_after_a_loss_decides_nothing():
    there = space()
    there.session().bye()
    there.lose(there.keep())
    look = Session(there)
    assert look.hello(read_only=True)[2] == 0
    a = Session(there)
    assert TTL // 2 < a.hello()[2] <= TTL
    assert look.renew() == [1] and a.renew()[0] == 0
    assert look.hello(read_only=True)[0] == 0 and a.renew()[0] == 0


@case
def a_second_loss_does_not_shorten_the_grace_period():
    there = space()
    there.lose()
    assert HOUR // 2 < Session(there).hello(longest=HOUR, grace=HOUR)[2] <= HOUR
    assert HOUR // 2 < restarted(there) <= HOUR


# ---- The server's identity--------------------------------------------------------------------


@case
def the_first_replica_is_not_a_loss_of_data():
    """The replication id changes though nothing was lost: every backup is such a replica."""
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
    """As if the clock had been set back: move all stored times forward."""
    fields = there.fields()
    for sid, text in there.fields("s").items():
        end, connection = text.split()
        later = f"{int(end) + step:016}"
        there.link.call("ZREM", there.order, f"e{end}{sid}")
        there.link.call("ZADD", there.order, 0, f"e{later}{sid}")
        there.link.call("HSET", there.state, f"s\n{sid}", f"{later} {connection}")
    if "grace" in fields:
        end, length = fields["grace"].split()
        there.link.call("HSET", there.state, "grace", f"{int(end) + step} {length}")
    there.link.call("HSET", there.state, "last", f"{int(fields['last']) + step:016}")


@case
def a_clock_set_back_does_not_revive_the_grace_period():
    there = space()
    a = there.session()
    there.lose(there.keep())
    assert a.hello()[2] > 0
    there.end_grace()
    assert a.renew()[3] == 0
    set_back(there)
    assert a.renew()[3] == 0 and a.enter(1, "m").state == "g"


@case
def a_clock_set_back_does_not_prolong_the_grace_period():
    there = space()
    a = there.session()
    there.lose(there.keep())
    assert 0 < a.hello()[2] <= TTL
    set_back(there)
    assert 0 < a.renew()[3] <= TTL
    assert 0 < there.session().hello()[2] <= TTL


@case
def a_clock_set_back_does_not_prolong_a_lease():
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
    assert a.take(2, "c").state == "g"  # its key would have lived on


# ---- One of the two keys is missing--------------------------------------------------------


@case
def without_the_sorted_set_no_waiter_is_passed_over():
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
    there.end_grace()
    assert c.read(1, "m").state == "w" and there.holders("m") == [f"{b.sid}:1"]


# ---- Memory --------------------------------------------------------------------------------


def full(there, yes):
    there.link.call("CONFIG", "SET", "maxmemory", 1 if yes else 0)


@case
def a_full_server_keeps_locks_and_releases_them():
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
        assert b.hello()[0] == 0 and b.reclaim((1, waiting, "1", "m", "")) == [0, 0, 0]
        assert a.hello()[0] == 0 and a.reclaim(*places) == [0, 0, 0]
        full(there, False)
        there.end_grace()
        full(there, True)
        assert b.call("read", "m", 0, id=1)[1] == "w"
        assert a.leave(1, "m") == [0, 0] and there.holders("m") == [f"{b.sid}:1"]
        assert a.leave(2, "c", claim=True) == [0, 0] and b.bye() == [0]
    finally:
        full(there, False)


main()
