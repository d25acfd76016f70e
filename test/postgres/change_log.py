#!/usr/bin/env -S python3 -B
"""change_log - store watches and history while transactions overlap, and what the model does not cover.

    test/postgres/change_log.py [FOLDER] [CASE ...]
"""
from calls import *  # noqa: F403


def store_watcher(there):
    """A session with a store watch that is up to date."""
    ret = there.session()
    (ret.stamp, _), names = ret.watch_store()
    assert names is None
    return ret


def changed_lines(watcher):
    (watcher.stamp, unsettled), names = watcher.watch_store(watcher.stamp)
    return names, unsettled


def events(history):
    return [(what, name) for _, what, name, *_ in history[0]]


# ---- The store watch ----------------------------------------------------------------------------


@case
def a_store_watch_waits_for_transactions_in_progress():
    for biased in (False, True):
        there = space()
        with Actor(there) as a, Actor(there) as watcher:
            if biased:
                a.enter(1, "m"), a.session.leave(1, "m"), a.enter(2, "n")
            a.begin()
            a.enter(3, "m")
            watcher.start("watch_store", 0, 0)
            assert watcher.is_stuck(), "the change would go unrecorded"
            a.commit()
            stamp = watcher.row()[1]
            assert len(watcher.session.list("m")[1]) == 1
            a.session.leave(3, "m"), a.session.leave(2, "n")
            assert sorted(watcher.session.watch_store(stamp)[1]) == (["m", "n"] if biased else ["m"])
        there.drop()


@case
def a_store_watch_waits_for_a_session_that_is_beginning():
    there = space()
    with Actor(there) as a, Actor(there) as watcher:
        fresh = Session(there)
        a.begin()
        fresh.connection = 1
        a.start_outside("hello", VERSION, fresh.sid, 1, TTL, True, "")
        assert a.row()[0] == 0
        watcher.start("watch_store", 0, 0)
        assert watcher.is_stuck()
        a.commit()
        stamp = watcher.row()[1]
        assert fresh.enter(1, "m").state == "g"
        assert watcher.session.watch_store(stamp)[1] == ["m"]
    there.drop()


@case
def an_answer_is_unsettled_while_an_older_transaction_is_open():
    """That transaction did not see the watcher waiting, so it sends no message."""
    there = space()
    watcher = store_watcher(there)
    with Actor(there) as a:
        a.begin()
        a.enter(1, "m")
        for _ in range(3):
            assert changed_lines(watcher) == ([], True)
        a.commit()
        assert there.messages() == [] and changed_lines(watcher) == (["m"], False)
        assert changed_lines(watcher) == ([], True) and changed_lines(watcher) == ([], False), "from now on a message comes"
        a.begin()
        assert a.session.leave(1, "m", link=a.link) == (0, False)
        assert changed_lines(watcher) == ([], False) and there.messages() == []
        a.commit()
        assert (watcher.sid, "s") in there.messages() and changed_lines(watcher)[0] == ["m"]
    there.drop()


@case
def a_change_is_seen_whichever_transaction_commits_first():
    there = space()
    watcher = store_watcher(there)
    with Actor(there) as a, Actor(there) as b:
        a.begin()
        a.enter(1, "m")
        b.enter(1, "n")
        assert changed_lines(watcher)[0] == ["n"]
        a.commit()
        assert changed_lines(watcher)[0] == ["m"]
        a.begin()
        assert a.session.leave(1, "m", link=a.link) == (0, False)
        a.rollback()
        assert changed_lines(watcher)[0] == []
    there.drop()


@case
def more_than_a_thousand_changes_are_answered_with_unknown():
    there = space()
    a, watcher, late = there.session(), store_watcher(there), store_watcher(there)
    for i in range(1001):
        a.enter(i + 1, f"m{i}")
    assert changed_lines(watcher)[0] is None
    a.leave(1, "m0")
    assert changed_lines(watcher)[0] == ["m0"]
    late.stamp -= 1
    assert changed_lines(late)[0] is None, "an answer was lost"
    changed_lines(late)
    a.leave(2, "m1")
    assert changed_lines(watcher)[0] == ["m1"] and changed_lines(late)[0] == ["m1"]
    assert there.link.call("SELECT count(*) FROM holdfast.changed_line")[0][0] < 200, "changes that all have seen are deleted"
    there.drop()


@case
def the_change_log_ends_with_the_last_store_watch():
    there = space()
    a, watcher, dead = there.session(), store_watcher(there), store_watcher(there)
    log = "SELECT log, (SELECT count(*) FROM holdfast.changed_line), " \
          "(SELECT sum(log) FROM holdfast.session) FROM holdfast.change_log"
    a.enter(1, "m")
    assert there.link.call(log) == [(1, 1, 3)]
    watcher.watch_store(0, 1)
    assert there.link.call(log) == [(1, 1, 3)]
    assert a.expire(dead.sid, None)
    a.sweep()
    assert there.link.call(log) == [(0, 0, 0)]
    a.leave(1, "m")
    assert there.link.call(log) == [(0, 0, 0)]
    watcher = store_watcher(there)
    watcher.watch_store(0, 1)
    assert there.link.call(log) == [(0, 0, 0)]
    there.drop()


# ---- History -----------------------------------------------------------------------------


@case
def history_is_kept_only_while_asked_for():
    there = space()
    a, b = sessions(there)
    assert a.history() is None
    a.keep_history(3)
    a.enter(1, "m", note="a\nb")
    b.enter(1, "m")
    first = a.history()[1]
    a.leave(1, "m")
    assert events(a.history()) == [("e", "m"), ("r", "m"), ("g", "m")]
    entries, newest = a.history("m", first)
    assert [r[0] - first for r in entries] == [1, 2] and newest == first + 2
    assert a.history("n") == ([], newest) and len(a.history(None, newest + 9)[0]) == 3
    a.keep_history(0)
    assert a.history() is None
    b.leave(1, "m")
    a.keep_history(10)
    assert a.history()[0] == [] and a.history()[1] > newest, "numbers never fall"
    there.drop()


@case
def history_entries_are_numbered_after_their_commit():
    """A later commit has a higher number, so a client that asks for new entries misses none."""
    there = space()
    a = there.session()
    a.keep_history(100)
    with Actor(there) as slow, Actor(there) as quick:
        slow.begin()
        slow.enter(1, "m")
        quick.enter(1, "n")
        entries, newest = a.history()
        assert [r[2] for r in entries] == ["n"]
        slow.commit()
        entries, last = a.history(None, newest)
        assert [(r[0], r[2]) for r in entries] == [(newest + 1, "m")] and last == newest + 1
        slow.begin()
        assert slow.session.leave(1, "m", link=slow.link) == (0, False)
        slow.rollback()
        assert a.history(None, last) == ([], last), "no gaps"
    there.drop()


@case
def sweep_deletes_old_history_entries():
    there = space()
    a = there.session()
    a.keep_history(5)
    for i in range(20):
        a.enter(i + 1, "m")
    a.sweep()
    assert there.link.call("SELECT count(*) FROM holdfast.history_entry")[0][0] == 5
    assert [r[1] for r in a.history()[0]] == ["e"] * 5
    there.drop()


main()
