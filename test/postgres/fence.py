#!/usr/bin/env -S python3 -B
"""fence - holdfast.fence(), called first in transactions that change what a lock protects.

    test/postgres/fence.py [FOLDER] [CASE ...]

There are two holders.  The earlier one does not know that it lost the lock; its token is lower.
"""
import threading

from calls import *  # noqa: F403
import pq

STALE = "HF002"


def bank(count=2):
    """A database with data to protect, and connections that work on it."""
    there = space()
    there.change("CREATE TABLE account (id int PRIMARY KEY, balance bigint)")
    there.change("INSERT INTO account VALUES (1, 100)")
    return there, [Actor(there) for _ in range(count)]


def fence(actor, token, name="bank"):
    actor.link.call("SELECT holdfast.fence($1, $2)", name, token)


def start_fence(actor, token, name="bank"):
    actor.link.send("SELECT holdfast.fence($1, $2)", name, token)


def balance(actor):
    return actor.link.call("SELECT balance FROM account WHERE id = 1")[0][0]


def add(actor, amount):
    """As an application does it that relies on its lock."""
    actor.link.call("UPDATE account SET balance = $1 WHERE id = 1", balance(actor) + amount)


def refused(function, *args):
    try:
        function(*args)
    except pq.Error as error:
        assert error.code == STALE, error
        return str(error)
    raise AssertionError("it was let through")


@case
def readers_may_call_fence_in_any_order():
    """While they hold the lock, and not after a writer has had it."""
    many = 4294967295
    there, (old, new) = bank()
    first = old.enter(1, "bank", weight=1, capacity=many)
    second = new.enter(1, "bank", weight=1, capacity=many)
    assert (first.state, second.state) == ("g", "g")
    fence(new, second.seq)
    fence(old, first.seq)
    assert there.link.call("SELECT token FROM holdfast.fence") == [(second.seq,)], "the token never falls"
    old.session.leave(1, "bank")
    refused(fence, old, first.seq)
    fence(new, second.seq)
    waiting = old.enter(2, "bank", weight=many, capacity=many)
    assert waiting.state == "w"
    new.session.leave(1, "bank")
    fence(old, waiting.seq)
    refused(fence, new, second.seq)


@case
def a_stale_token_is_refused():
    there, (old, new) = bank()
    fence(new, 20)
    text = refused(fence, old, 10)
    assert '"bank"' in text and "10" in text and "20" in text, text
    fence(old, 10, "another lock")
    fence(new, 20)  # any number of times
    fence(new, 21)
    assert there.link.call("SELECT * FROM holdfast.fence ORDER BY name") == \
        [("another lock", 10), ("bank", 21)]


@case
def a_later_holder_waits_for_the_earlier_ones_transaction():
    for end, total in (("COMMIT", 111), ("ROLLBACK", 110)):
        _, (old, new) = bank()
        old.begin()
        fence(old, 10)
        assert balance(old) == 100
        new.begin()
        start_fence(new, 20)
        assert new.is_stuck(), "it would read data that the other is about to change"
        add(old, 1)
        old.link.run(end)
        new.row()
        add(new, 10)
        new.commit()
        assert balance(new) == total
        refused(fence, old, 10)


@case
def an_earlier_holder_is_refused_before_it_reads():
    _, (old, new) = bank()
    new.begin()
    fence(new, 20)
    add(new, 10)
    old.begin()
    start_fence(old, 10)
    assert old.is_stuck()
    new.commit()
    refused(old.row)
    old.rollback()
    assert balance(old) == 110


@case
def a_later_holder_that_rolls_back_leaves_no_trace():
    _, (old, new) = bank()
    new.begin()
    fence(new, 20)
    old.begin()
    start_fence(old, 10)
    assert old.is_stuck()
    new.rollback()
    old.row()
    add(old, 1)
    old.commit()
    assert balance(old) == 101


@case
def without_fence_an_update_is_lost():
    """Shows that the tests above would notice."""
    _, (old, new) = bank()
    old.begin(), new.begin()
    seen = balance(old)
    add(new, 10)
    new.commit()
    old.link.call("UPDATE account SET balance = $1 WHERE id = 1", seen + 1)
    old.commit()
    assert balance(old) == 101


@case
def in_stricter_isolation_levels_fence_fails_or_the_data_is_right():
    """With repeatable read, a transaction that waited for fence() would still see the old data."""
    for level, before in (("REPEATABLE READ", 5), ("REPEATABLE READ", 0), ("SERIALIZABLE", 5)):
        _, (old, new) = bank()
        if before:
            fence(old, before)
        old.begin()
        fence(old, 10)
        new.link.run(f"BEGIN ISOLATION LEVEL {level}")
        start_fence(new, 20)
        assert new.is_stuck()
        add(old, 1)
        old.commit()
        try:
            new.row()
            assert False, "it would read an old balance"
        except pq.Error as error:
            assert error.code == "40001", error
        new.rollback()
        new.link.run(f"BEGIN ISOLATION LEVEL {level}")
        fence(new, 20)
        add(new, 10)
        new.commit()
        assert balance(new) == 111


@case
def fence_blocks_neither_the_line_nor_other_locks():
    there, (old, new) = bank()
    token = old.enter(1, "bank").seq
    old.begin()
    fence(old, token)
    waiting = new.enter(1, "bank")
    assert waiting.state == "w"
    assert new.session.break_place("bank", token) == 0
    later = new.session.read(1, "bank")
    assert later.state == "g" and later.seq > token
    fence(new, 1, "another lock")
    add(old, 1)
    old.commit()
    fence(new, later.seq)
    refused(fence, old, token)
    assert new.session.leave(1, "bank") == (0, False)
    new.session.bye(), old.session.bye()
    assert there.link.call("SELECT token FROM holdfast.fence WHERE name = 'bank'") == \
        [(later.seq,)], "it outlives the line"


@case
def no_update_is_lost_when_many_take_turns():
    there, actors = bank(4)
    faults = []

    def work(actor):
        try:
            for turn in range(1, 26):
                answer = actor.enter(turn, "bank")
                while answer.state == "w":
                    answer = actor.session.read(turn, "bank", link=actor.link)
                actor.begin()
                fence(actor, answer.seq)
                add(actor, 1)
                actor.commit()
                actor.session.leave(turn, "bank", link=actor.link)
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=[actor]) for actor in actors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults
    assert balance(actors[0]) == 200
    assert there.counts()["every_place"] == 0


main()
