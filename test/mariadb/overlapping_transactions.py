#!/usr/bin/env -S python3 -B
"""overlapping_transactions - calls of the MariaDB store that meet a transaction in progress.

A commit may take long: because of the disk, a replica, or a debugger.  Other transactions do not
see uncommitted changes.  So every decision must be based on what was committed last.
"""
from calls import *


@contextlib.contextmanager
def in_progress(there, name):
    """A transaction that has locked that line."""
    with there.server.connect(there.database) as link:
        link.run(TUNE)
        link.run("START TRANSACTION")
        link.call("SELECT * FROM hf_line WHERE name = ? FOR UPDATE", name)
        yield link


def leave_inside(link, session, id, name):
    """What hf_leave() does, in a transaction that goes on."""
    (used, holders, waiting), = link.call("SELECT used, holders, waiting FROM hf_line WHERE name = ?", name)
    (weight,), = link.call("SELECT weight FROM hf_place WHERE sid = ? AND id = ? AND state = 'g'",
                           session.sid, id)
    link.call("DELETE FROM hf_place WHERE sid = ? AND id = ?", session.sid, id)
    link.call("CALL hf_settle(?, ?, ?, ?, '', 0, 0)", name, used - weight, holders - 1, waiting)


class Stuck:
    """A call on a connection of its own, which waits for a lock."""

    def __init__(self, there, name, *args, settings=""):
        self.link, self.name = there.connect(), name
        self.link.run(settings or "DO 0")
        values = ", ".join(mywire.literal(value) for value in args)
        self.link.send(f"{statement(name)}({values})")
        assert not self.link.done(0.3), "it was answered before the other transaction ended"

    def answer(self):
        row, = parse(self.link.result(), self.name)
        self.link.close()
        return row


def enter_stuck(session, id, name, weight=1, capacity=1):
    return Stuck(session.space, "enter", session.sid, session.connection, id, name, weight, capacity,
                 0, 0, 0, "", SECRET)


def wrong_totals(there):
    """How many lines have any."""
    return rows(there.link, "overview", None)[0][8]


@case
def an_enter_waits_for_a_leave_in_progress():
    """Otherwise it would wait for a holder that is gone, and nobody would grant it."""
    there = space()
    a, b = there.session(), there.session()
    a.enter(1, "m")
    with in_progress(there, "m") as leaving:
        leave_inside(leaving, a, 1, "m")
        entering = enter_stuck(b, 1, "m")
        leaving.run("COMMIT")
    assert Answer(*entering.answer()).state == "g"
    assert wrong_totals(there) == 0
    there.drop()


@case
def a_leave_grants_a_waiter_that_enters_meanwhile():
    there = space()
    a, b = there.session(), there.session()
    a.enter(1, "m")
    with in_progress(there, "m") as entering:
        entering.call("INSERT INTO hf_place SELECT ?, 1, name, last + 1, 1, 0, '', 'w', -1, 0, NULL, '' "
                      "FROM hf_line WHERE name = 'm'", b.sid)
        entering.run("UPDATE hf_line SET waiting = 1, last = last + 1 WHERE name = 'm'")
        leaving = Stuck(there, "leave", a.sid, a.connection, 1, "m")
        entering.run("COMMIT")
    assert leaving.answer() == (0, 0)
    assert b.read(1).state == "g"
    there.drop()


@case
def a_grant_during_a_downgrade_is_seen_at_any_isolation_level():
    """The downgrade has read the place before it waits for the line."""
    for level in ("READ-COMMITTED", "REPEATABLE-READ"):
        there = space()
        a, b, c = there.session(), there.session(), there.session()
        a.enter(1, "m", 1, 2)
        b.enter(1, "m", 2, 2)
        with in_progress(there, "m") as leaving:
            downgrading = Stuck(there, "downgrade", b.sid, b.connection, 1, 1,
                                settings=f"SET tx_isolation = '{level}'")
            leave_inside(leaving, a, 1, "m")
            leaving.run("COMMIT")
        answer = Answer(*downgrading.answer())
        assert (answer.code, answer.state, answer.weight) == (0, "g", 1), (level, answer)
        assert wrong_totals(there) == 0, level
        assert c.enter(1, "m", 1, 2).state == "g", level
        there.drop()


@case
def a_session_that_ends_during_an_enter_leaves_no_place():
    """Nobody would remove it."""
    there = space()
    a, b = there.session(), there.session()
    b.enter(1, "m")
    with in_progress(there, "m") as other:
        entering = enter_stuck(a, 1, "m")
        ending = there.connect()
        ending.send(f"SELECT hf_expire('{a.sid}')")
        ending.done(0.3)
        other.run("ROLLBACK")
    assert entering.answer()[0] == 0
    assert parse(ending.result(), "expire") == [(0,)]
    ending.close()
    assert [row[7] for row in rows(there.link, "list", "m")[1:]] == ["g"]
    there.drop()


@case
def a_downgrade_waits_while_its_place_becomes_one_of_another_line():
    """Only a client that wants to forge totals uses an id again meanwhile, on a second connection."""
    there = space()
    a, b, c = there.session(), there.session(), there.session()
    for session in (a, b, c):
        session.enter(1, "m")
    b.enter(2, "n", 2, 2)
    with in_progress(there, "m") as link:
        stuck = Stuck(there, "downgrade", b.sid, b.connection, 1, 1)
        link.call("DELETE FROM hf_place WHERE sid = ? AND id = 1", b.sid)
        link.run("UPDATE hf_line SET waiting = 1 WHERE name = 'm'")
        link.call("UPDATE hf_place SET id = 1 WHERE sid = ? AND id = 2", b.sid)
        link.run("COMMIT")
    stuck.answer()
    assert a.read(1).state == "g" and c.read(1).state == "w", "two holders"
    assert wrong_totals(there) == 0
    there.drop()


main()
