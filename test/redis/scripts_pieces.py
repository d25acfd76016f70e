#!/usr/bin/env -S python3 -B
"""scripts_pieces - no script blocks the server for long: very many places are granted, listed, ended
and reclaimed in pieces, and the next call goes on.

    test/redis/scripts_pieces.py [FOLDER] [CASE ...]

FOLDER, where programs are built, does not matter here.
"""
import itertools

from cases import *  # noqa: F403
from model import HEAD

PIECE = 200  # of line.lua
READERS = str(MANY)


def crowd(there, count, weight=1, kind=READERS):
    """So many waiters behind one holder.  Returns the holder and the waiters' sessions."""
    holder, waiters = there.session(), sessions(there, 3)
    assert holder.enter(1, "rw", int(kind), kind).state == "g"
    for i in range(count):
        assert waiters[i % 3].enter(i + 1, "rw", weight, kind).state == "w"
    return holder, waiters


def held(there):
    """How many hold it; they must be the first in line."""
    holders = [m.split()[1] for m in there.members("hrw\n")]
    waiting = [m.split()[1] for m in there.members("qrw\n")]
    assert not holders or not waiting or max(holders) < min(waiting)
    words = there.fields("l")["rw"].split()
    assert (int(words[1]), int(words[2])) == (len(holders), len(waiting)), words
    return len(holders)


@case
def very_many_are_granted_in_pieces():
    there = space()
    holder, waiters = crowd(there, 3 * PIECE + 10)
    late = there.session()
    assert holder.leave(1, "rw") == [0, 0] and held(there) == PIECE
    assert late.enter(1, "rw", MANY, READERS).state == "w" and held(there) == 2 * PIECE
    assert waiters[0].read(1, "rw").state == "g" and held(there) == 3 * PIECE
    assert waiters[1].read(3 * PIECE + 2, "rw").state == "g" and held(there) == 3 * PIECE + 10
    assert late.read(1, "rw").of("state", "ahead") == ("w", 3 * PIECE + 10)
    assert there.members("p") == []
    told = there.messages()
    assert len({(sid, text.split()[1]) for sid, text in told}) == len(told) == 3 * PIECE + 10


@case
def any_client_continues_granting():
    """The client that left is dead, and so are those that were granted the first piece."""
    there = space()
    holder, waiters = crowd(there, 2 * PIECE + 3)
    other = there.session()
    assert holder.bye() == [0] and held(there) == PIECE
    reply = other.renew()
    assert held(there) == 2 * PIECE and reply[2] == 1, "it has to come again at once"
    assert other.renew()[2] > 1 and held(there) == 2 * PIECE + 3
    assert there.members("p") == []


@case
def slots_are_granted_in_pieces():
    there = space()
    holder, waiters = crowd(there, PIECE + 50, kind="1000")
    assert holder.leave(1, "rw") == [0, 0] and held(there) == PIECE
    holder.renew()
    assert held(there) == PIECE + 50
    slots = sorted(int(text.split()[3]) for text in there.fields("t").values())
    assert slots == list(range(PIECE + 50))


@case
def a_grace_period_between_two_pieces():
    there = space()
    holder, waiters = crowd(there, 2 * PIECE)
    assert holder.leave(1, "rw") == [0, 0] and held(there) == PIECE
    there.lose(there.keep())
    for session in (holder, *waiters):
        assert session.hello()[0] == 0 and session.renew()[0] == 0
    assert len(there.holders("rw")) == PIECE
    there.end_grace()
    assert waiters[0].read(1, "rw").state == "g" and held(there) == 2 * PIECE


@case
def very_many_are_listed_in_pieces():
    there = space()
    holder, waiters = crowd(there, 2500)
    reply = holder.call("list", "", "")
    assert len(reply) == 5 + 1000 and reply[4] != ""
    assert holder.leave(1, "rw") == [0, 0]  # 200 of those already listed hold it now
    seen = reply[5:]
    while reply[4]:
        reply = holder.call("list", "rw", reply[4], keys=[there.claim("rw")])
        assert reply[0] == 0 and len(reply) <= 5 + 1000
        seen += reply[5:]
    seqs = {text.split()[1] for text in seen}
    assert len(seqs) == 2500, "one that is there all the time was left out"


# ---- A session with very many places -----------------------------------------------------


def session_with(there, count):
    """One that has so many places in one line."""
    a = there.session()
    a.enter_many(range(1, count + 1), "x", 1, str(MANY))
    return a


@case
def a_session_with_many_places_is_ended_in_pieces():
    there = space()
    b = there.session()
    a = session_with(there, 1000)
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
def bye_is_repeated_until_all_places_are_gone():
    there = space()
    a = session_with(there, 500)
    for left in (300, 100, 0):
        assert a.bye() == ([0, 1] if left else [0]) and len(there.members("o")) == left
        if left == 100:
            there.kill(a)  # it was slow: its lease is over, but nobody has noticed
    assert a.sid not in there.fields("s") and a.bye() == [2]


@case
def a_single_bye_leaves_many_places_behind():
    there = space()
    b = there.session()
    a = session_with(there, 1000)
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
def places_are_reclaimed_in_pieces():
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
        reply = a.reclaim(*((id, held[id], "1", f"n{id}", "") for id in piece),
                       after=ours[start - 1] if start else "",
                       up_to=piece[-1] if start + 4 < len(ours) else "")
        assert reply[0] == 0
        back = [x + y for x, y in zip(back, reply[1:])]
    assert back == [0, 2], back
    there.end_grace()
    for id in ids:
        assert there.holders(f"n{id}") == ([f"{a.sid}:{id}"] if id in ours else [])


@case
def places_left_meanwhile_are_deleted_in_pieces():
    there = space()
    a = session_with(there, 500)
    held = a.read(7, "x")
    there.lose(there.keep())
    a.hello()
    ours = 7, held, str(MANY), "x", ""
    replies = [a.reclaim(ours) for _ in range(3)]
    assert replies[0][:2] == [0, 0] and [r[3:] for r in replies] == [[1], [1], []], replies
    assert sum(r[2] for r in replies) == 499, replies
    there.end_grace()
    assert there.holders("x") == [f"{a.sid}:7"]


main()
