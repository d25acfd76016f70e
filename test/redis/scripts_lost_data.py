#!/usr/bin/env -S python3 -B
"""scripts_lost_data - the Redis scripts when a server loses data.

    test/redis/scripts_lost_data.py [FOLDER] [CASE ...]

FOLDER, where programs are built, does not matter here.
"""
from cases import *  # noqa: F403


@case
def all_data_lost_while_held():
    there = space()
    a, b, c = sessions(there, 3)
    held, waiting = a.enter(1, "m"), b.enter(1, "m")
    there.lose()
    assert a.renew() == [1] and c.enter(1, "m").code == 1
    reply = c.hello(grace=TTL)
    assert a.renew() == [1] and b.read(1, "m").code == 1  # the run id is the same as before
    assert reply[0] == 0 and 0 < reply[2] <= TTL and reply[5] <= TTL, reply
    first = c.enter(1, "m")  # before the others come back
    assert first.state == "w" and first.ahead == 0 and int(first.seq) > int(waiting.seq)
    assert c.enter(2, "m", only_free=1).state == "r"
    assert b.hello(grace=TTL)[0] == 0 and b.reclaim((1, waiting, "1", "m", "x")) == [0, 1, 0]
    assert a.hello(grace=TTL)[0] == 0 and a.reclaim((1, held, "1", "m", "")) == [0, 1, 0]
    assert there.holders("m") == [f"{a.sid}:1"]
    assert b.read(1, "m").of("state", "seq") == ("w", waiting.seq) and there.messages() == []
    there.end_grace()
    assert c.read(1, "m").of("state", "ahead") == ("w", 2) and there.messages() == []
    assert a.leave(1, "m") == [0, 0]
    assert [text[:3] for _, text in there.messages()] == ["g 1"]
    assert there.holders("m") == [f"{b.sid}:1"]


@case
def a_reclaimed_waiter_can_be_read_before_its_line_is_counted():
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    waiting = b.enter(1, "m")
    there.lose()
    b.hello(grace=TTL)
    b.reclaim((1, waiting, "1", "m", ""))
    assert b.read(1, "m").of("state", "seq") == ("w", waiting.seq)


@case
def a_new_namespace_has_no_grace_period():
    there = space()
    reply = Session(there).hello()
    assert reply[2] == 0
    assert there.session().enter(1, "m").state == "g"


@case
def what_was_found_out_counts_only_in_that_epoch():
    """All data are lost between the look for canaries and the hello that follows."""
    there = space()
    a, b = Session(there), Session(there)
    assert a.hello(grace=None)[7] == 1 and a.enter(1, "m").state == "w"
    there.lose()
    assert a.call("hello", TTL, 0, 0, 0, "", 0, 0, "")[2] > TTL, "it has to look again"
    assert b.enter(1, "m").code == 1 and b.hello()[2] == 0, "nobody had held anything"


@case
def a_client_with_lost_data_forbids_that_the_namespace_counts_as_new():
    there = space()
    a, b = sessions(there)
    there.lose()
    assert b.hello(grace=None)[7] == 1 and a.hello(grace=None)[7] == 1
    b = Session(there)
    assert TTL // 2 < b.hello()[2] <= TTL and TTL // 2 < a.hello()[2] <= TTL


@case
def a_client_that_dies_while_it_looks_blocks_nobody():
    there = space()
    a, b, look = Session(there), Session(there), Session(there)
    assert look.hello(read_only=True)[7] == 1
    assert a.hello(grace=None)[7] == 1 and there.fields()["grace"]
    there.kill(a)
    assert look.hello(read_only=True)[7] == 1
    found = look.diagnose()
    assert (found[4], found[13]) == (0, 2), "nobody knows yet how long it takes"
    assert b.hello()[2::5] == [0, 0]
    assert b.enter(1, "m").state == "g"
    assert look.hello(read_only=True)[7] == 0
    assert "blank" not in there.fields()


@case
def two_clients_find_out_that_the_namespace_is_new():
    there = space()
    a, b = Session(there), Session(there)
    assert a.hello(grace=None)[7] == b.hello(grace=None)[7] == 1
    assert a.hello()[2] == 0 and a.enter(1, "m").state == "g"
    assert b.hello()[2] == 0 and b.enter(1, "n").state == "g"
    assert int(a.read(1, "m").seq) <= there.now(), "tokens did not jump"


@case
def a_canary_makes_the_grace_period_last():
    there = space()
    a, b = Session(there), Session(there)
    assert a.hello(grace=10 * TTL)[2] > 9 * TTL and a.enter(1, "m").state == "w"
    assert b.hello()[2] > 9 * TTL, "what the others find out later does not count"


@case
def another_server_with_the_same_data():
    there = space()
    a, b, c = sessions(there, 3)
    held, waiting, given_back = a.enter(1, "m"), b.enter(1, "m"), a.enter(2, "n")
    there.lose(there.keep())
    for session in (c, a, b):
        reply = session.hello()  # with data the grace period is not the client's choice
        assert reply[0] == 0 and TTL // 2 < reply[2] <= TTL, reply
        if session is c:  # the others do not know yet
            assert a.renew() == [1] and b.enter(2, "n").code == 1 and a.leave(1, "m") == [1]
    assert a.reclaim((1, held, "1", "m", "")) == [0, 0, 1]
    assert b.reclaim((1, waiting, "1", "m", "")) == [0, 0, 0]
    assert given_back.state == "g" and there.holders("n") == []
    assert c.enter(1, "n").state == "w"
    there.end_grace()
    assert c.read(1, "n").state == "g"
    assert a.read(1, "m").state == "g" and b.read(1, "m").state == "w"
    there.messages()
    a.leave(1, "m")
    assert [sid for sid, _ in there.messages()] == [b.sid]


@case
def sentinels_name_the_same_server_again():
    """It was replaced meanwhile, and does not know it: another server may have granted everything."""
    there = space()
    a, b = Session(there), Session(there)
    assert TTL // 2 < a.hello(config_epoch=1)[2] <= TTL, "another master may have had data"
    there.end_grace()
    held = a.enter(1, "m")
    assert a.hello(config_epoch=1)[2] == b.hello(config_epoch=1)[2] == 0, "nothing is lost"
    b.enter(1, "n")
    assert TTL // 2 < a.hello(config_epoch=3)[2] <= TTL
    assert b.renew() == [1] and b.enter(2, "o").code == 1
    assert b.hello(config_epoch=3)[0] == 0 and b.enter(2, "o").state == "w"
    assert b.reclaim() == [0, 0, 2] and a.reclaim((1, held, "1", "m", "")) == [0, 0, 0]
    assert Session(there).hello()[0] == 0 and a.renew()[0] == 0, "without Sentinels nothing is compared"


@case
def the_last_writes_are_lost():
    """a released it and b got it; then a server takes over that lacks both writes."""
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    waiting = b.enter(1, "m")
    kept = there.keep()
    a.leave(1, "m")
    held = b.read(1, "m")
    later = b.enter(2, "n")
    assert held.state == later.state == "g"
    there.lose(kept)
    b.hello()
    assert b.reclaim((1, held, "1", "m", ""), (2, later, "1", "n", "")) == [0, 1, 0]
    a.hello()
    assert a.reclaim() == [0, 0, 1]
    there.end_grace()
    assert a.enter(3, "m").state == "w" and a.enter(4, "n").state == "w"
    assert there.holders("m") == [f"{b.sid}:1"] and there.holders("n") == [f"{b.sid}:2"]
    assert held.seq == waiting.seq and b.read(1, "m").seq == held.seq


@case
def an_unanswered_enter_stays():
    there = space()
    a = there.session()
    held = a.enter(1, "m")
    there.lose(there.keep())
    a.hello()
    unknown = held._replace(seq="0", state="w")
    assert a.reclaim((1, unknown, "1", "m", ""), (2, unknown, "1", "n", "")) == [0, 0, 0]
    assert a.enter(1, "m").of("state", "seq") == ("g", held.seq) and a.read(2, "n").state == "-"


@case
def a_client_that_comes_too_late_has_lost_its_places():
    there = space()
    a, b = sessions(there)
    held = a.enter(1, "m")
    there.lose()
    b.hello(grace=TTL)
    there.end_grace()
    assert a.hello() == [2]
    b.enter(1, "m")
    there.lose(there.keep())
    b.hello()
    there.end_grace()
    assert b.reclaim((1, held, "1", "m", "")) == [2]


@case
def a_leave_before_the_recount_keeps_the_other_holders():
    """Readers; two come back, one leaves before the line is recounted."""
    there = space()
    a, b, c = sessions(there, 3)
    held = [session.enter(1, "rw", 1, str(MANY)) for session in (a, b)]
    there.lose()
    for session, place in zip((a, b), held):
        session.hello(grace=TTL)
        session.reclaim((1, place, str(MANY), "rw", ""))
    a.leave(1, "rw")
    there.end_grace()
    c.hello()
    c = there.session()
    assert c.enter(1, "rw", MANY, str(MANY)).state == "w"
    b.leave(1, "rw")
    assert c.read(1, "rw").state == "g"
    c.leave(1, "rw")
    assert not there.members("h") and "rw" not in there.fields("l")


@case
def a_downgrade_before_the_recount_counts_right():
    there = space()
    a, b = sessions(there)
    held, waiting = a.enter(1, "s", 3, "4"), b.enter(1, "s", 2, "4")
    there.lose()
    a.come_back((1, held, "4", "s", ""))
    assert a.downgrade(1, "s", 2).of("state", "weight") == ("g", 2)
    b.come_back((1, waiting, "4", "s", ""))
    assert b.read(1, "s").state == "w"
    there.end_grace()
    assert a.downgrade(1, "s", 1).of("state", "weight") == ("g", 1)  # the first to touch the line
    assert b.read(1, "s").of("state", "slot") == ("g", 1)
    assert there.session().enter(1, "s", 2, "4").state == "w"


@case
def a_session_can_die_during_the_grace_period():
    there = space()
    a = there.session()
    held = a.enter(1, "m")
    there.lose()
    a.come_back((1, held, "1", "m", ""))
    there.kill(a)
    assert a.hello(grace=TTL) == [2] and there.holders("m") == []


@case
def slots_stay_with_their_holders():
    there = space()
    a, b, c = sessions(there, 3)
    places = [s.enter(i, "s", 1, "4") for i, s in ((1, a), (2, b), (3, a), (4, c))]
    assert [p.slot for p in places] == [0, 1, 2, 3]
    there.lose()
    a.hello(grace=TTL)
    assert a.reclaim((3, places[2], "4", "s", "")) == [0, 1, 0]
    d = there.session()
    assert [d.enter(i, "s", 1, "4").state for i in (1, 2, 3, 4)] == ["w"] * 4
    there.end_grace()
    shown = [d.read(i, "s").of("state", "slot") for i in (1, 2, 3, 4)]
    assert shown == [("g", 0), ("g", 1), ("g", 3), ("w", -1)], shown
    a.leave(3, "s")
    assert d.read(4, "s").of("state", "slot") == ("g", 2)


@case
def claims_are_reclaimed():
    there = space()
    a, b = sessions(there)
    held = [a.take(i, f"c{i}") for i in (1, 2)]
    there.lose()
    b.hello(grace=TTL)
    there.link.call("SET", there.claim("c2"), "somebody", "PX", 5000)  # another program
    assert b.take(1, "c1").state == "r"
    a.hello(grace=TTL)
    a.reclaim(*((i, held[i - 1], "1c", f"c{i}", "") for i in (1, 2)))
    assert there.link.call("GET", there.claim("c1")) == claim_value(f"{a.sid}:1", held[0].seq)
    assert there.link.call("GET", there.claim("c2")) == "somebody"
    there.end_grace()
    assert b.take(1, "c1").state == "r"
    assert a.renew(*((i, f"c{i}", held[i - 1].seq) for i in (1, 2)))[6:] == ["2"]
    a.leave(1, "c1", claim=True)
    assert b.take(2, "c1").state == "g"


@case
def a_broken_place_is_not_reclaimed():
    there = space()
    a, b = sessions(there)
    held, waiting = a.enter(1, "m"), b.enter(1, "m")
    b.anybody("break", "m", held.seq)
    there.messages()
    there.lose(there.keep())
    a.hello()
    a.reclaim((1, held, "1", "m", ""))
    assert [text for _, text in there.messages()] == ["b 1"]
    b.hello()
    b.reclaim((1, waiting._replace(state="g"), "1", "m", ""))
    assert there.holders("m") == [f"{b.sid}:1"]
    assert a.leave(1, "m") == [0, 1]


@case
def no_more_is_reclaimed_than_fits():
    """a was broken, and b was granted; then the server forgets both, before a hears of it."""
    for first in "ab":
        there = space()
        a, b = sessions(there)
        held, waiting = a.enter(1, "m"), b.enter(1, "m")
        b.anybody("break", "m", held.seq)
        there.lose()
        there.messages(numbered=False)
        places = {"a": (a, held), "b": (b, waiting._replace(state="g"))}
        order = [places.pop(first), *places.values()]
        for session, place in order:
            session.come_back((1, place, "1", "m", "x"))
        (winner, _), (loser, _) = order
        assert there.holders("m") == [f"{winner.sid}:1"]
        assert there.messages(numbered=False) == [(loser.sid, "b 1")]
        assert loser.read(1, "m").state == "-" and winner.read(1, "m").state == "g"
        assert winner.reclaim((1, order[0][1], "1", "m", "x")) == [0, 0, 0], "a repeat"
        assert loser.reclaim((1, order[1][1], "1", "m", "x")) == [0, 0, 0], "a repeat"
        assert there.holders("m") == [f"{winner.sid}:1"]
        there.end_grace()
        assert loser.leave(1, "m") == [0, 1] and winner.leave(1, "m") == [0, 0]
        assert not there.members("h")


@case
def an_unanswered_enter_stays_only_if_it_fits():
    """Old data have it as a holder, which was broken later."""
    there = space()
    a, b = sessions(there)
    held = a.enter(1, "m")
    kept = there.keep()
    waiting = b.enter(1, "m")
    b.anybody("break", "m", held.seq)
    there.lose(kept)
    b.come_back((1, waiting._replace(state="g"), "1", "m", ""))
    a.come_back((1, held._replace(seq="0", state="w"), "1", "m", ""))
    assert there.holders("m") == [f"{b.sid}:1"]
    there.end_grace()
    assert a.enter(1, "m").state == "-" and a.enter(2, "m").state == "w"


@case
def a_semaphore_is_reclaimed_up_to_its_capacity():
    there = space()
    a, b, c = sessions(there, 3)
    held = [s.enter(i, "s", w, "5") for s, i, w in ((a, 1, 2), (a, 2, 1), (b, 1, 2))]
    over = held[0]._replace(slot=4, weight=1)
    there.lose()
    b.come_back((1, held[2], "5", "s", ""))
    a.come_back((1, held[0], "5", "s", ""), (2, held[1], "5", "s", ""))
    c.come_back((1, over, "5", "s", ""), (2, held[0], "5", "t", ""))
    assert there.holders("s") == sorted([f"{a.sid}:1", f"{a.sid}:2", f"{b.sid}:1"])
    assert c.read(1, "s").state == "-" and c.read(2, "t").state == "g"
    assert a.leave(2, "s") == [0, 0], "what was given back fits again"
    assert c.reclaim((3, over, "5", "s", "")) == [0, 1, 1] and c.read(3, "s").state == "g"


@case
def who_comes_back_forbids_another_kind():
    """c asks for another kind while there are no data that forbid it, before those of before are back."""
    for other in ("5", str(MANY)):
        there = space()
        a, b, c = sessions(there, 3)
        held, waiting = a.enter(1, "m"), b.enter(1, "m")
        there.lose()
        c.hello(grace=TTL)
        assert c.enter(1, "m", int(other) - 1, other).state == "w"
        there.messages(numbered=False)
        b.come_back((1, waiting, "1", "m", ""))
        assert there.messages(numbered=False) == [(c.sid, "b 1")]
        a.come_back((1, held, "1", "m", ""))
        assert c.enter(1, "m", 1, other).state == "-" and c.enter(2, "m", 1, other).code == 4
        there.end_grace()
        assert c.enter(3, "m", 1, other).code == 4 and there.holders("m") == [f"{a.sid}:1"]
        assert a.leave(1, "m") == [0, 0] and there.holders("m") == [f"{b.sid}:1"]
        assert b.leave(1, "m") == [0, 0] and c.enter(4, "m", 1, other).state == "g"


@case
def a_holder_of_another_kind_does_not_come_back_beside_one():
    there = space()
    a, c = sessions(there)
    held = a.enter(1, "m")
    there.lose()
    a.come_back((1, held, "1", "m", ""))
    c.come_back((1, held._replace(slot=0), "5", "m", ""), (2, held._replace(state="w"), "5", "m", ""))
    assert there.holders("m") == [f"{a.sid}:1"] and c.read(1, "m").state == c.read(2, "m").state == "-"
    there.end_grace()
    assert a.leave(1, "m") == [0, 0] and not there.members("h")


@case
def tokens_rise_whichever_client_knows_the_highest():
    """The server's clock is far behind the tokens."""
    there = space()
    a, b = sessions(there)
    high = there.now() + 10**12
    there.link.call("HSET", there.state, "last", f"{high:016}")
    held = a.enter(1, "m")
    assert int(held.seq) == high + 1
    there.lose()
    b.hello(grace=TTL)
    a.hello(grace=TTL)
    a.reclaim((1, held, "1", "m", ""))
    assert int(b.enter(1, "m").seq) > int(held.seq)


@case
def a_renewal_returns_an_upper_bound_of_tokens():
    there = space()
    a, b = sessions(there)
    assert there.now() - 1_000_000 < int(a.renew()[5]) <= there.now()
    high = there.now() + 10**12
    there.link.call("HSET", there.state, "last", f"{high:016}")
    assert a.renew()[5] == str(high) and a.hello()[6] == str(high)
    assert int(b.enter(1, "m").seq) == high + 1
    a.token = high + 5  # as much later
    a.hello()
    assert int(there.fields()["last"]) == high + 1, "nothing is lost"
    there.lose()
    a.hello(grace=TTL)
    assert int(a.enter(1, "m").seq) == high + 6


@case
def without_the_sorted_set_nothing_is_granted():
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
    there.end_grace()
    assert c.enter(3, "m").state == "w" and c.enter(4, "s", 2, "4").state == "w"
    assert there.holders("m") == [f"{a.sid}:1"] and there.holders("s") == [f"{a.sid}:2"]
    assert a.leave(1, "m") == [0, 0] and there.holders("m") == [f"{b.sid}:1"]


@case
def a_handover_without_the_sorted_set_is_noticed():
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    waiting = b.enter(1, "m")
    there.link.call("DEL", there.order)
    assert a.leave(1, "m") == [0, 0] and there.holders("m") == []
    assert b.read(1, "m").code == 1
    b.come_back((1, waiting, "1", "m", ""))
    there.end_grace()
    assert b.read(1, "m").state == "g"


@case
def the_grace_period_is_as_long_as_the_longest_lease():
    """The remaining data decide; the client that notices the loss may have a short lease."""
    there = space()
    a = there.session()
    a.enter(1, "m")
    there.link.call("DEL", there.order)
    a.renew()
    assert Session(there).hello(ttl=1000, grace=1000)[2] == TTL


@case
def holders_reclaim_on_another_server_without_the_sorted_set():
    there = space()
    a, b = sessions(there)
    held = a.enter(1, "m")
    kept = there.keep()
    del kept[there.order]
    there.lose(kept)
    b.come_back()
    a.come_back((1, held, "1", "m", ""))
    there.end_grace()
    assert b.enter(1, "m").state == "w" and there.holders("m") == [f"{a.sid}:1"]


@case
def without_the_hash_nothing_is_granted():
    there = space()
    a, b = sessions(there)
    held = a.enter(1, "m")
    there.link.call("DEL", there.state)
    assert b.enter(1, "m").code == 1
    b.hello(grace=TTL)
    assert there.members("h") == []
    assert b.enter(1, "m").state == "w"
    a.hello(grace=TTL)
    a.reclaim((1, held, "1", "m", ""))
    there.end_grace()
    assert b.read(1, "m").state == "w" and there.holders("m") == [f"{a.sid}:1"]


main()
