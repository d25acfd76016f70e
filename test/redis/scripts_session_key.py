#!/usr/bin/env -S python3 -B
"""scripts_session_key - the Redis scripts when a session is ended by its session key.

    test/redis/scripts_session_key.py [FOLDER] [CASE ...]

FOLDER, where programs are built, does not matter here.
"""
from cases import *  # noqa: F403
from lines import LAST


@case
def a_thousand_places_end_with_all_claim_keys():
    there = space()
    a, b = sessions(there)
    a.hello(connection=7)
    a.enter_many(range(1, 601), "crowd", 1, "1000")
    for id in range(601, 1001):
        assert a.take(id, f"c{id}").state == "g"
    assert b.take(1, "other").state == "g"
    waiting = b.enter(2, "m") if a.enter(2000, "m").state == "g" else None
    assert waiting.state == "w"
    calls = a.end_by_key()
    assert 6 <= calls <= 12, calls  # pieces; before some of them bye asks for claim keys
    assert a.renew() == a.hello() == [2] and b.read(2, "m").state == "g"
    assert there.keys().count(there.claim("other")) == 1 and len(there.keys()) == 3
    assert sorted(owner[:16] for owner in there.fields("t")) == [b.sid, b.sid]
    assert (a.sid, "e") in there.messages()
    assert b.take(3, "c700").state == "g"


@case
def hello_by_key_shuts_the_owner_out_and_keeps_the_lease():
    there = space()
    a, b = sessions(there)
    held = a.enter(1, "m")
    before = there.fields("s")[a.sid].split()
    for _ in range(2):  # two clients may have the same key
        assert a.by_key().hello(connection=LAST)[0] == 0
    assert there.fields("s")[a.sid].split() == [before[0], str(LAST)]
    assert a.renew() == a.hello() == [3] and a.leave(1, "m") == [3]
    assert there.holders("m") == [f"{a.sid}:1"] and held.state == "g"
    assert a.end_by_key() == 1 and a.end_by_key() == 0
    assert b.enter(1, "m").state == "g"


@case
def a_shut_out_owner_starts_again_after_the_lease():
    """The client with the key got no further than hello, and there is no other client."""
    for lost in (False, True):
        there = space()
        a = there.session()
        a.enter(1, "m")
        if lost:
            there.lose(there.keep())
        assert a.by_key().hello(connection=LAST)[0] == 0
        assert a.hello() == [3]
        there.kill(a)
        if lost:
            assert a.hello() == [3]  # the grace period may be longer than the lease
            there.end_grace()
        assert a.hello() == [2] and a.sid not in there.fields("s")
        assert there.session().enter(1, "m").state == "g"


@case
def the_rest_of_a_partly_ended_session_is_ended():
    """Its lease is over, and others ended a piece of it before or meanwhile."""
    there = space()
    a, b = sessions(there)
    a.enter_many(range(1, 901), "crowd", 1, "1000")
    there.kill(a)
    assert b.renew()[0] == 0 and len(there.members("o")) == 700
    assert a.end_by_key() == 3 and not there.members("o")
    c = there.session()
    c.enter_many(range(1, 901), "crowd", 1, "1000")
    assert c.end_by_key(before_each=lambda: there.kill(c)) == 5 and not there.members("o")


@case
def a_slow_end_by_key_leaves_no_claim_behind():
    """Others could not delete the claim's key, which would block until the lease is over."""
    there = space()
    a, b = sessions(there)
    a.enter_many(range(1, 301), "crowd", 1, "1000")
    assert a.take(999, "last").state == "g"
    before = there.fields("s")[a.sid].split()[0]
    ends = []
    a.end_by_key(before_each=lambda: ends.append(there.fields("s")[a.sid].split()[0]))
    assert set(ends) == {before}, ends
    assert b.take(1, "last").state == "g"


@case
def a_key_of_no_session_creates_nothing():
    there = space()
    nobody = Session(there)
    assert nobody.end_by_key() == 0 and there.keys() == []
    a = there.session()
    before = there.fields()
    assert nobody.end_by_key() == 0 and there.fields() == before
    there.kill(a)
    assert a.end_by_key() == 0 and a.sid not in there.fields("s")


@case
def after_lost_data_nothing_is_granted_before_the_grace_period_ends():
    there = space()
    a, b = sessions(there)
    a.enter(1, "m"), a.take(2, "c")
    waiting = b.enter(1, "m")
    there.lose(there.keep())
    assert a.end_by_key() == 2  # the first to find out that this is another server
    assert b.read(1, "m").code == 1
    reply = b.hello()
    assert reply[0] == 0 and TTL // 2 < reply[2] <= TTL, reply
    assert b.reclaim((1, waiting, "1", "m", "")) == [0, 0, 0]
    assert b.read(1, "m").state == "w" and b.take(2, "c").state == "r"
    assert there.messages(numbered=False) == [(a.sid, "e")]
    there.end_grace()
    assert b.read(1, "m").state == "g" and b.take(2, "c").state == "g"


@case
def a_session_can_be_ended_during_the_grace_period():
    there = space()
    a, b = sessions(there)
    held, waiting = a.enter(1, "m"), b.enter(1, "m")
    there.lose()
    for session, place in ((a, held), (b, waiting)):
        assert session.come_back((1, place, "1", "m", "")) == [0, 1, 0]
    assert a.end_by_key() == 1 and b.read(1, "m").state == "w"
    there.end_grace()
    assert b.read(1, "m").state == "g"


@case
def a_claim_key_of_another_program_stays():
    there = space()
    a = there.session()
    a.take(1, "c")
    there.link.call("SET", there.claim("c"), "somebody")
    a.take(2, "d")
    there.link.call("SET", there.claim("d"), f"{'0' * 16}:2:1")
    assert a.end_by_key() == 2
    assert there.link.call("GET", there.claim("c")) == "somebody"
    assert there.link.call("GET", there.claim("d")) == f"{'0' * 16}:2:1"


@case
def an_unreadable_place_does_not_stop_the_end():
    there = space()
    a, b = sessions(there)
    name = "n" * 300
    a.enter(1, "m")
    there.link.call("HSET", there.state, f"t\n{a.sid}:2", f"g 1 1 -1 1 1c {name}\n")
    there.link.call("ZADD", there.order, 0, f"o{a.sid}:2", 0, f"o{a.sid}:3")  # 3: no record
    assert a.end_by_key() == 1 and b.enter(1, "m").state == "g"


main()
