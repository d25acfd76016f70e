#!/usr/bin/env -S python3 -B
"""scripts_changes - the change log and history, where the models of scripts.py do not reach.

    test/redis/scripts_changes.py [FOLDER] [CASE ...]
"""
from cases import *  # noqa: F403


def store_watcher(there):
    """A session that watches the store and has seen everything."""
    ret = there.session()
    ret.stamp, names = ret.watch_store()
    assert names is None
    return ret


def whats(history):
    return "".join(record[1] for record in history[0])


# ---- The store watch ----------------------------------------------------------------------------


@case
def without_a_watcher_no_change_is_logged():
    there = space()
    a = there.session()
    a.enter(1, "m")
    a.leave(1, "m")
    assert there.keys() == [there.state, there.order] or there.keys() == [there.order, there.state]
    assert "watch_store" not in there.fields() and "history" not in there.fields()


@case
def a_watcher_gets_one_message_until_it_reads():
    there = space()
    a, eye = there.session(), store_watcher(there)
    assert eye.watch_store(eye.stamp)[1] == []
    a.enter(1, "m")
    a.enter(1, "m")
    a.enter(2, "n")
    assert there.messages() == [(eye.sid, "s")]
    stamp, names = eye.watch_store(eye.stamp)
    assert sorted(names) == ["m", "n"]
    assert sorted(eye.watch_store(eye.stamp)[1]) == ["m", "n"], "the answer was lost"
    a.leave(2, "n")
    assert eye.watch_store(stamp)[1] == ["n"] and there.messages() == []


@case
def too_many_changes_overflow_the_log():
    there = space()
    a, eye, late = there.session(), store_watcher(there), store_watcher(there)
    assert late.watch_store(late.stamp)[1] == []
    for i in range(1001):
        a.enter(i + 1, f"m{i}")
    assert there.messages() == [(late.sid, "s")]
    assert there.link.call("EXISTS", there.changes) == 0
    stamp, names = eye.watch_store(eye.stamp)
    assert names is None
    assert eye.watch_store(eye.stamp)[1] is None, "the answer was lost"
    stamp, _ = eye.watch_store(eye.stamp)
    a.leave(1, "m0")
    assert eye.watch_store(stamp)[1] == ["m0"] and late.watch_store(late.stamp)[1] is None
    for session in (eye, late):
        session.watch_store(0, 1)
    assert there.link.call("EXISTS", there.changes) == 0 and "watch_store" not in there.fields()


@case
def changes_that_all_watchers_have_seen_are_deleted():
    there = space()
    a, eye, late = there.session(), store_watcher(there), store_watcher(there)
    for i in range(10):
        a.enter(i + 1, f"m{i}")
        eye.stamp, names = eye.watch_store(eye.stamp)
        assert names == [f"m{i}"]
    assert there.link.call("ZCARD", there.changes) == 10
    late.stamp, names = late.watch_store(late.stamp)
    assert len(names) == 10
    late.watch_store(late.stamp)
    eye.watch_store(eye.stamp)
    assert there.link.call("ZCARD", there.changes) == 0


@case
def the_end_of_a_dead_session_is_a_change():
    there = space()
    a, eye = there.session(), store_watcher(there)
    a.enter(1, "m")
    eye.stamp, names = eye.watch_store(eye.stamp)
    reply = eye.call("watch_store", eye.stamp, 0)
    assert reply[3:] == [0] and 0 < reply[2] <= TTL, "it is told when the next session ends"
    there.kill(a)
    eye.renew()
    assert there.messages() == [(eye.sid, "s")] and eye.watch_store(eye.stamp)[1] == ["m"]


@case
def reclaimed_places_are_changes():
    there = space()
    a, eye = there.session(), store_watcher(there)
    place = a.enter(1, "m")
    eye.stamp, _ = eye.watch_store(eye.stamp)
    there.lose()
    assert eye.hello(grace=TTL)[0] == 0 and eye.reclaim()[0] == 0
    eye.stamp, names = eye.watch_store(eye.stamp)
    assert names is None and eye.watch_store(eye.stamp)[1] == []
    assert a.come_back((1, place, "1", "m", ""))[:2] == [0, 1]
    assert there.messages() == [(eye.sid, "s")] and eye.watch_store(eye.stamp)[1] == ["m"]


# ---- History -----------------------------------------------------------------------------


@case
def history_is_kept_on_request():
    there = space()
    a, b = sessions(there)
    assert a.history() is None
    a.hello(history=[10])
    first = a.history()[1]
    a.enter(1, "m", note="a\nb")
    b.enter(1, "m")
    b.enter(2, "m", only_free=1)
    a.leave(1, "m")
    (told, newest), names = a.history(), b.history("n")
    assert [(r[0] - first, r[1], r[6], r[7]) for r in told] == [
        (1, "g", "m", "a\nb"), (2, "e", "m", ""), (3, "r", "m", "a\nb"), (4, "g", "m", "")]
    assert newest == first + 4 and names == ([], newest)
    assert a.history("m", first + 2)[0] == told[2:]
    b.hello(history=[3])
    assert b.history()[0] == told[-3:]
    b.hello(history=[20, 1])
    assert b.history()[0] == told[-3:], "only if data were lost"
    b.hello(history=[0])
    assert b.history() is None and there.link.call("EXISTS", there.history_key) == 0
    a.hello(history=[5])
    assert a.history()[1] > newest, "numbers never fall"


@case
def history_is_kept_again_after_a_loss():
    there = space()
    a = there.session(history=[10])
    a.enter(1, "m")
    newest = a.history()[1]
    there.lose()
    a.hello(grace=TTL, history=[10, 1])
    assert a.history()[0] == [] and a.history()[1] > newest
    a = space().session(history=[10])
    a.enter(1, "m")
    told = a.history()
    a.space.lose(a.space.keep())
    a.hello(grace=TTL, history=[99, 1])
    assert a.history() == told and a.space.fields()["history"].startswith("10 ")
    assert a.history(after=told[1] + 5) == told, "what was after that is lost"


@case
def history_is_trimmed_and_read_in_pieces():
    there = space()
    a = there.session(history=[1200])
    for i in range(1500):
        a.enter(i + 1, f"m{i % 3}", 1, "1") if i % 2 else a.enter(i + 1, "s", 1, "5000")
    told, newest = a.history()
    assert [r[0] for r in told] == list(range(newest - 1199, newest + 1))
    assert 1200 <= there.link.call("LLEN", there.history_key) < 1300
    assert all(r[6] == "s" for r in a.history("s")[0]) and len(a.history("s")[0]) == 600


@case
def a_log_that_cannot_be_written_stops_no_lock():
    there = space()
    a, eye = there.session(history=[10]), store_watcher(there)
    for key in (there.history_key, there.changes):
        there.link.call("SET", key, "somebody's")
    assert a.enter(1, "m").state == "g" and a.enter(2, "m").state == "w"
    assert a.leave(1, "m") == [0, 0]
    assert eye.watch_store(eye.stamp)[1] is None
    assert there.holders("m") == [f"{a.sid}:2"]


main()
