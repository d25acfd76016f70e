#!/usr/bin/env -S python3 -B
"""scripts_pieces - no call of the Redis store's scripts keeps the server for long: what there is
very much of is done in pieces, and whoever comes next goes on.

    test/redis/scripts_pieces.py [FOLDER] [CASE ...]

FOLDER, where programs are built, does not matter here.
"""
from cases import *  # noqa: F403

PIECE = 200  # of line.lua
READERS = str(MANY)


def crowd(there, count, weight=1, kind=READERS):
    """So many wait behind one that has it all; their sessions, and the holder."""
    holder, waiters = there.session(), sessions(there, 3)
    assert holder.enter(1, "rw", int(kind), kind).state == "g"
    for i in range(count):
        assert waiters[i % 3].enter(i + 1, "rw", weight, kind).state == "w"
    return holder, waiters


def held(there):
    """How many hold it, who must be the first in line."""
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
def any_client_goes_on():
    """Those that were granted the first piece are dead, and so is the one that left."""
    there = space()
    holder, waiters = crowd(there, 2 * PIECE + 3)
    other = there.session()
    assert holder.bye() == [0] and held(there) == PIECE
    reply = other.renew()
    assert held(there) == 2 * PIECE and reply[2] == 1, "it has to come again at once"
    assert other.renew()[2] > 1 and held(there) == 2 * PIECE + 3
    assert there.members("p") == []


@case
def slots_are_given_in_pieces():
    there = space()
    holder, waiters = crowd(there, PIECE + 50, kind="1000")
    assert holder.leave(1, "rw") == [0, 0] and held(there) == PIECE
    holder.renew()
    assert held(there) == PIECE + 50
    slots = sorted(int(text.split()[3]) for text in there.fields("t").values())
    assert slots == list(range(PIECE + 50))


@case
def a_hold_off_between_two_pieces():
    there = space()
    holder, waiters = crowd(there, 2 * PIECE)
    assert holder.leave(1, "rw") == [0, 0] and held(there) == PIECE
    there.lose(there.keep())
    for session in (holder, *waiters):
        assert session.hello()[0] == 0 and session.renew()[0] == 0
    assert len(there.holders("rw")) == PIECE
    there.end_hold()
    assert waiters[0].read(1, "rw").state == "g" and held(there) == 2 * PIECE


@case
def very_many_are_listed_in_pieces():
    there = space()
    holder, waiters = crowd(there, 2500)
    reply = holder.call("list", "", "")
    assert len(reply) == 5 + 1000 and reply[4] != ""
    assert holder.leave(1, "rw") == [0, 0]  # 200 that were told of hold it now
    seen = reply[5:]
    while reply[4]:
        reply = holder.call("list", "rw", reply[4], keys=[there.claim("rw")])
        assert reply[0] == 0 and len(reply) <= 5 + 1000
        seen += reply[5:]
    seqs = {text.split()[1] for text in seen}
    assert len(seqs) == 2500, "one that is there all the time was left out"


main()
