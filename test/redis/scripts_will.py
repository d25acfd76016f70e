#!/usr/bin/env -S python3 -B
"""scripts_will - the Lua files of the Redis store when a session is ended by its will.

    test/redis/scripts_will.py [FOLDER] [CASE ...]

FOLDER, where programs are built, does not matter here.
"""
from cases import *  # noqa: F403
from lines import LAST


@case
def a_thousand_places_go_and_every_claim_with_its_key():
    there = space()
    a, b = sessions(there)
    a.hello(connection=7)
    a.enter_many(range(1, 601), "crowd", 1, "1000")
    for id in range(601, 1001):
        assert a.take(id, f"c{id}").state == "g"
    assert b.take(1, "other").state == "g"
    waiting = b.enter(2, "m") if a.enter(2000, "m").state == "g" else None
    assert waiting.state == "w"
    calls = a.execute()
    assert 6 <= calls <= 12, calls  # pieces, and before some of them claims are asked for
    assert a.renew() == a.hello() == [2] and b.read(2, "m").state == "g"
    assert there.keys().count(there.claim("other")) == 1 and len(there.keys()) == 3
    assert sorted(owner[:16] for owner in there.fields("t")) == [b.sid, b.sid]
    assert (a.sid, "e") in there.messages()
    assert b.take(3, "c700").state == "g"


@case
def whoever_has_the_will_keeps_the_owner_out_and_makes_no_lease_longer():
    there = space()
    a, b = sessions(there)
    held = a.enter(1, "m")
    before = there.fields("s")[a.sid].split()
    for _ in range(2):  # another may have the same will
        assert a.executor().hello(connection=LAST)[0] == 0
    assert there.fields("s")[a.sid].split() == [before[0], str(LAST)]
    assert a.renew() == a.hello() == [3] and a.leave(1, "m") == [3]
    assert there.holders("m") == [f"{a.sid}:1"] and held.state == "g"
    assert a.execute() == 1 and a.execute() == 0
    assert b.enter(1, "m").state == "g"


@case
def who_was_kept_out_may_begin_anew_when_the_lease_is_over():
    """Whoever had the will got no further than hello; and nobody else is there to look."""
    for lost in (False, True):
        there = space()
        a = there.session()
        a.enter(1, "m")
        if lost:
            there.lose(there.keep())
        assert a.executor().hello(connection=LAST)[0] == 0
        assert a.hello() == [3]
        there.kill(a)
        if lost:
            assert a.hello() == [3]  # the hold-off may be longer than the lease
            there.end_hold()
        assert a.hello() == [2] and a.sid not in there.fields("s")
        assert there.session().enter(1, "m").state == "g"


@case
def what_others_left_of_a_session_is_ended_to_the_last():
    """Its lease is over, and a piece of it was ended, before or while its will is executed."""
    there = space()
    a, b = sessions(there)
    a.enter_many(range(1, 901), "crowd", 1, "1000")
    there.kill(a)
    assert b.renew()[0] == 0 and len(there.members("o")) == 700
    assert a.execute() == 3 and not there.members("o")
    c = there.session()
    c.enter_many(range(1, 901), "crowd", 1, "1000")
    assert c.execute(before_each=lambda: there.kill(c)) == 5 and not there.members("o")


@case
def a_slow_will_leaves_no_claim_to_others():
    """They could not take its key away, which is somebody's until the lease is over."""
    there = space()
    a, b = sessions(there)
    a.enter_many(range(1, 301), "crowd", 1, "1000")
    assert a.take(999, "last").state == "g"
    before = there.fields("s")[a.sid].split()[0]
    ends = []
    a.execute(before_each=lambda: ends.append(there.fields("s")[a.sid].split()[0]))
    assert set(ends) == {before}, ends
    assert b.take(1, "last").state == "g"


@case
def where_there_is_no_such_session_nothing_is_made():
    there = space()
    nobody = Session(there)
    assert nobody.execute() == 0 and there.keys() == []
    a = there.session()
    before = there.fields()
    assert nobody.execute() == 0 and there.fields() == before
    there.kill(a)
    assert a.execute() == 0 and a.sid not in there.fields("s")


@case
def after_lost_data_nobody_is_granted_anything_before_the_hold_off_is_over():
    there = space()
    a, b = sessions(there)
    a.enter(1, "m"), a.take(2, "c")
    waiting = b.enter(1, "m")
    there.lose(there.keep())
    assert a.execute() == 2  # the first to find out that this is another server
    assert b.read(1, "m").code == 1
    reply = b.hello()
    assert reply[0] == 0 and TTL // 2 < reply[2] <= TTL, reply
    assert b.mend((1, waiting, "1", "m", "")) == [0, 0, 0]
    assert b.read(1, "m").state == "w" and b.take(2, "c").state == "r"
    assert there.messages(numbered=False) == [(a.sid, "e")]
    there.end_hold()
    assert b.read(1, "m").state == "g" and b.take(2, "c").state == "g"


@case
def while_there_is_a_hold_off_a_session_ends_all_the_same():
    there = space()
    a, b = sessions(there)
    held, waiting = a.enter(1, "m"), b.enter(1, "m")
    there.lose()
    for session, place in ((a, held), (b, waiting)):
        assert session.come_back((1, place, "1", "m", "")) == [0, 1, 0]
    assert a.execute() == 1 and b.read(1, "m").state == "w"
    there.end_hold()
    assert b.read(1, "m").state == "g"


@case
def a_key_that_is_somebody_elses_stays():
    there = space()
    a = there.session()
    a.take(1, "c")
    there.link.call("SET", there.claim("c"), "somebody")
    a.take(2, "d")
    there.link.call("SET", there.claim("d"), f"{'0' * 16}:2:1")
    assert a.execute() == 2
    assert there.link.call("GET", there.claim("c")) == "somebody"
    assert there.link.call("GET", there.claim("d")) == f"{'0' * 16}:2:1"


@case
def a_place_that_makes_no_sense_is_in_nobodys_way():
    there = space()
    a, b = sessions(there)
    name = "n" * 300
    a.enter(1, "m")
    there.link.call("HSET", there.state, f"t\n{a.sid}:2", f"g 1 1 -1 1 1c {name}\n")
    there.link.call("ZADD", there.order, 0, f"o{a.sid}:2", 0, f"o{a.sid}:3")  # 3: no record
    assert a.execute() == 1 and b.enter(1, "m").state == "g"


main()
