#!/usr/bin/env -S python3 -B
"""trail - who surveys, and what history is kept, while transactions overlap; and what the model of
schema.py does not do.

    test/postgres/trail.py [FOLDER] [CASE ...]
"""
from cases import *  # noqa: F403
from lines import TTL, VERSION


def surveyor(there):
    """A session that has seen all there is."""
    ret = there.session()
    (ret.stamp, _), names = ret.survey()
    assert names is None
    return ret


def look(eye):
    (eye.stamp, unsettled), names = eye.survey(eye.stamp)
    return names, unsettled


def told(history):
    return [(what, name) for _, what, name, *_ in history[0]]


# ---- Surveys -----------------------------------------------------------------------------


@case
def what_is_under_way_when_a_survey_begins_is_waited_for():
    there = space()
    with Actor(there) as a, Actor(there) as eye:
        a.begin()
        a.enter(1, "m")
        eye.start("survey", 0, 0)
        assert eye.is_stuck(), "nobody would note it down"
        a.commit()
        assert eye.row()[3]
        assert len(eye.session.list("m")[1]) == 1
    there.drop()


@case
def a_session_that_just_begins_is_waited_for():
    there = space()
    with Actor(there) as a, Actor(there) as eye:
        fresh = Session(there)
        a.begin()
        fresh.connection = 1
        a.start_outside("hello", VERSION, fresh.sid, 1, TTL, True, "")
        assert a.row()[0] == 0
        eye.start("survey", 0, 0)
        assert eye.is_stuck()
        a.commit()
        stamp = eye.row()[1]
        assert fresh.enter(1, "m").state == "g"
        assert eye.session.survey(stamp)[1] == ["m"]
    there.drop()


@case
def what_is_under_way_when_nothing_has_changed_is_come_back_for():
    """It knows of nobody who is to be told."""
    there = space()
    eye = surveyor(there)
    with Actor(there) as a:
        a.begin()
        a.enter(1, "m")
        for _ in range(3):
            assert look(eye) == ([], True)
        a.commit()
        assert there.messages() == [] and look(eye) == (["m"], False)
        assert look(eye) == ([], True) and look(eye) == ([], False), "now we are told"
        a.begin()
        assert a.session.leave(1, "m", link=a.link) == (0, False)
        assert look(eye) == ([], False) and there.messages() == []
        a.commit()
        assert (eye.sid, "s") in there.messages() and look(eye)[0] == ["m"]
    there.drop()


@case
def it_does_not_matter_who_commits_first():
    there = space()
    eye = surveyor(there)
    with Actor(there) as a, Actor(there) as b:
        a.begin()
        a.enter(1, "m")
        b.enter(1, "n")
        assert look(eye)[0] == ["n"]
        a.commit()
        assert look(eye)[0] == ["m"]
        a.begin()
        assert a.session.leave(1, "m", link=a.link) == (0, False)
        a.rollback()
        assert look(eye)[0] == []
    there.drop()


@case
def of_too_many_nobody_knows_which():
    there = space()
    a, eye, late = there.session(), surveyor(there), surveyor(there)
    for i in range(1001):
        a.enter(i + 1, f"m{i}")
    assert look(eye)[0] is None
    a.leave(1, "m0")
    assert look(eye)[0] == ["m0"]
    late.stamp -= 1
    assert look(late)[0] is None, "an answer was lost"
    look(late)
    a.leave(2, "m1")
    assert look(eye)[0] == ["m1"] and look(late)[0] == ["m1"]
    assert there.link.call("SELECT count(*) FROM holdfast.change")[0][0] < 200, "told to all"
    there.drop()


@case
def nothing_is_noted_down_if_nobody_surveys_any_more():
    there = space()
    a, eye, dead = there.session(), surveyor(there), surveyor(there)
    trail = "SELECT trail, (SELECT count(*) FROM holdfast.change), " \
            "(SELECT sum(trail) FROM holdfast.session) FROM holdfast.trail"
    a.enter(1, "m")
    assert there.link.call(trail) == [(1, 1, 3)]
    eye.survey(0, 1)
    assert there.link.call(trail) == [(1, 1, 3)]
    assert a.bury(dead.sid, None)
    a.sweep()
    assert there.link.call(trail) == [(0, 0, 0)]
    a.leave(1, "m")
    assert there.link.call(trail) == [(0, 0, 0)]
    eye = surveyor(there)
    eye.survey(0, 1)
    assert there.link.call(trail) == [(0, 0, 0)]
    there.drop()


# ---- History -----------------------------------------------------------------------------


@case
def history_is_kept_if_somebody_wants_it():
    there = space()
    a, b = sessions(there)
    assert a.history() is None
    a.keep_history(3)
    a.enter(1, "m", note="a\nb")
    b.enter(1, "m")
    first = a.history()[1]
    a.leave(1, "m")
    assert told(a.history()) == [("e", "m"), ("r", "m"), ("g", "m")]
    records, newest = a.history("m", first)
    assert [r[0] - first for r in records] == [1, 2] and newest == first + 2
    assert a.history("n") == ([], newest) and len(a.history(None, newest + 9)[0]) == 3
    a.keep_history(0)
    assert a.history() is None
    b.leave(1, "m")
    a.keep_history(10)
    assert a.history()[0] == [] and a.history()[1] > newest, "numbers never fall"
    there.drop()


@case
def records_are_numbered_when_they_are_there():
    """Whoever commits later has the higher number: nobody who asks for what is new misses it."""
    there = space()
    a = there.session()
    a.keep_history(100)
    with Actor(there) as slow, Actor(there) as quick:
        slow.begin()
        slow.enter(1, "m")
        quick.enter(1, "n")
        records, newest = a.history()
        assert [r[2] for r in records] == ["n"]
        slow.commit()
        records, last = a.history(None, newest)
        assert [(r[0], r[2]) for r in records] == [(newest + 1, "m")] and last == newest + 1
        slow.begin()
        assert slow.session.leave(1, "m", link=slow.link) == (0, False)
        slow.rollback()
        assert a.history(None, last) == ([], last), "no gaps"
    there.drop()


@case
def what_nobody_asks_for_is_forgotten():
    there = space()
    a = there.session()
    a.keep_history(5)
    for i in range(20):
        a.enter(i + 1, "m")
    a.sweep()
    assert there.link.call("SELECT count(*) FROM holdfast.past")[0][0] == 5
    assert [r[1] for r in a.history()[0]] == ["e"] * 5
    there.drop()


main()
