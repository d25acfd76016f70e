#!/usr/bin/env -S python3 -B
"""order - transactions of the PostgreSQL store that overlap.

    test/postgres/order.py [FOLDER] [--seconds N] [CASE ...]

A commit may take long: the disk, a standby, an administrator's debugger.  Others do not see
what is not committed.  So the order of tickets must be the order of commits, and every
decision must rest on what is committed.
"""
import random
import threading
import time

from cases import *  # noqa: F403
from lines import NAMES, SECRET, VERSION, call
import pq

DEADLOCK = "40P01"


def two(there):
    return Actor(there), Actor(there)


# ---- Slow commits ------------------------------------------------------------------------


@case
def who_commits_first_is_first():
    for name in ("never used", "used before"):
        there = space()
        a, b = two(there)
        with a, b:
            if name == "used before":
                a.enter(1, name)
                a.session.leave(1, name)
            a.begin()
            first = a.enter(2, name)
            b.start_enter(1, name)
            assert b.is_stuck(), "it was answered before the other's fate was known"
            a.commit()
            second = b.answer()
            assert (first.state, second.state, second.ahead) == ("g", "w", 1), (first, second)
            assert second.seq > first.seq


@case
def who_rolls_back_was_never_there():
    there = space()
    a, b = two(there)
    with a, b:
        a.begin()
        lost = a.enter(1, "m")
        b.start_enter(1, "m")
        assert b.is_stuck()
        a.rollback()
        assert b.answer().state == "g"
        assert a.enter(1, "m").state == "w" and not a.session.prove("m", lost.seq)


@case
def a_slow_leave_is_no_leave_yet():
    there = space()
    a, b = two(there)
    with a, b:
        a.enter(1, "m")
        a.begin()
        assert a.session.leave(1, "m", link=a.link) == (0, False)
        b.start_enter(1, "m", only_free=True)
        assert b.is_stuck()
        a.rollback()
        assert b.answer().state == "r"
        a.begin()
        a.session.leave(1, "m", link=a.link)
        b.start_enter(2, "m")
        assert b.is_stuck()
        a.commit()
        assert b.answer().state == "g"


@case
def of_many_that_enter_at_once_one_is_granted():
    for claim in (False, True):
        there = space()
        a, *others = [Actor(there) for _ in range(8)]
        a.begin()
        a.enter(1, "m", claim=claim)
        for other in others:
            other.start_enter(1, "m", claim=claim, only_free=claim)
            assert other.is_stuck()
        a.rollback()
        answers = [other.answer() for other in others]
        granted = [answer for answer in answers if answer.state == "g"]
        assert len(granted) == 1 and all(
            answer.state == ("r" if claim else "w") for answer in answers if answer not in granted)
        if not claim:
            assert min(answer.seq for answer in answers) == granted[0].seq
        for actor in (a, *others):
            actor.link.close()


@case
def other_lines_are_not_held_up():
    there = space()
    a, b = two(there)
    with a, b:
        a.begin()
        a.enter(1, "m")
        assert b.enter(1, "another").state == "g"
        assert b.session.list("m") == (1, []), "not committed, not seen"
        a.commit()


@case
def a_watcher_misses_nothing():
    there = space()
    a, b = two(there)
    with a, b:
        stamp, _ = b.session.list("m")
        a.begin()
        a.enter(1, "m")
        b.start("watch", "m", stamp, 0)
        assert b.is_stuck()
        a.commit()
        assert b.row() == (0, True), "the line was empty when it was looked at"
        stamp, _ = b.session.list("m")
        a.begin()
        a.session.leave(1, "m", link=a.link)
        b.start("watch", "m", stamp, 0)
        assert b.is_stuck()
        a.commit()
        assert b.row() == (0, True)


# ---- The ends of sessions ----------------------------------------------------------------


def renewal_of(there, session):
    return there.link.call("SELECT renewal FROM holdfast.session WHERE sid = $1",
                           session.sid)[0][0]


@case
def who_is_buried_while_he_enters_leaves_nothing():
    there = space()
    a, b = two(there)
    with a, b:
        renewal = renewal_of(there, a.session)
        a.begin()
        assert a.enter(1, "m").state == "g"
        b.start_outside("bury", a.session.sid, renewal)
        assert b.is_stuck()
        a.commit()
        assert b.row() == (True,)
        assert there.counts()["ticket"] == 0
        assert b.enter(1, "m").state == "g"


@case
def who_enters_while_he_is_buried_is_told():
    there = space()
    for end in ("COMMIT", "ROLLBACK"):
        a, b = two(there)
        with a, b:
            b.begin()
            assert call(b.link, "bury", a.session.sid, renewal_of(there, a.session)) == [(True,)]
            a.start_enter(1, end)
            assert a.is_stuck()
            b.link.run(end)
            assert a.answer().code == (2 if end == "COMMIT" else 0)


@case
def no_burial_takes_too_long():
    """Those with many places are buried one after the other."""
    there = space()
    dead = [there.session() for _ in range(4)]
    me = there.session()
    for session, places in zip(dead, (600, 600, 10, 1200)):
        there.link.call("SELECT count(*) FROM generate_series(1, $3::bigint) i, LATERAL holdfast.enter("
                        "$1, $2, i, 'n' || i, 1, 4294967295, false, false, 0, '', '')",
                        session.sid, session.connection, places)
    drawn = (renewal_of(there, dead[-1]), 10**6)
    there.grow_old()
    assert [me.bury_silent(drawn) for _ in range(4)] == [1, 2, 1, 0]
    assert there.counts()["ticket"] == 0


@case
def who_renews_is_not_buried():
    there = space()
    a, b = two(there)
    with a, b:
        renewal = renewal_of(there, a.session)
        a.begin()
        assert a.session.call("renew", link=a.link)[0][0] == 0
        b.start_outside("bury", a.session.sid, renewal)
        assert b.is_stuck()
        a.commit()
        assert b.row() == (False,)
        assert a.enter(1, "m").state == "g"


@case
def an_old_connection_is_done_before_a_new_one_begins():
    there = space()
    a = there.session()
    old, new = Actor(there, a), Actor(there, a)
    with old, new:
        old.begin()
        old.enter(1, "m")
        new.start_outside("hello", VERSION, a.sid, a.connection + 1, 1000, False, "")
        assert new.is_stuck()
        old.commit()
        assert new.row()[0] == 0
        assert old.enter(2, "m").code == 3
        a.connection += 1
        assert a.read(1).state == "g" and a.mend() == 0 and a.read(1).state == "-"


@case
def who_has_a_will_waits_for_what_its_owner_has_under_way():
    there = space()
    a = there.session()
    owner, other = Actor(there, a), Actor(there, a)
    with owner, other:
        owner.begin()
        owner.enter(1, "m")
        other.start_outside("bye", a.sid, None)
        assert other.is_stuck()
        owner.commit()
        assert other.row()[0] == 0
        assert owner.enter(2, "m").code == 2 and there.counts()["ticket"] == 0


@case
def the_last_may_go_while_the_next_comes():
    """Lines are forgotten with the last session; their tokens go on."""
    there = space()
    a, b = two(there)
    with a, b:
        there.change("UPDATE holdfast.head SET floor = $1", 10**17)  # the clock was there, once
        b.session.bye()
        top = a.enter(1, "m").seq
        assert top > 10**17
        a.begin()
        assert a.session.bye(link=a.link) == 0
        b.session = Session(there)
        assert b.session.hello()[0] == 0
        b.start_enter(1, "m")
        assert b.is_stuck()
        a.commit()
        answer = b.answer()
        assert answer.state == "g" and answer.seq == top + 1, (top, answer)


@case
def who_makes_a_line_while_it_is_forgotten_knows_its_tokens():
    there = space()
    a, b, c = Actor(there), Actor(there), Actor(there)
    with a, b, c:
        there.change("UPDATE holdfast.head SET floor = $1", 10**17)
        b.session.bye(), c.session.bye()
        top = a.enter(1, "m").seq
        a.begin()
        assert a.session.bye(link=a.link) == 0
        for actor in (b, c):
            actor.session = there.session()
            actor.start_enter(1, "m")
            assert actor.is_stuck()
        a.commit()
        first, second = sorted((b.answer(), c.answer()), key=lambda answer: answer.seq)
        assert (first.state, second.state) == ("g", "w")
        assert (first.seq, second.seq) == (top + 1, top + 2), (top, first, second)


# ---- Many at once ------------------------------------------------------------------------

CONSISTENT = """
    SELECT l.name, l.used, l.holders, l.waiting, l.capacity, t.used, t.holders, t.waiting, t.bad
    FROM holdfast.line l LEFT JOIN (
        SELECT name, coalesce(sum(weight) FILTER (WHERE state = 'g'), 0) AS used,
               count(*) FILTER (WHERE state = 'g') AS holders,
               count(*) FILTER (WHERE state = 'w') AS waiting,
               coalesce(max(seq) FILTER (WHERE state = 'g') >
                        min(seq) FILTER (WHERE state = 'w'), false) AS bad
        FROM holdfast.ticket WHERE state <> 'b' GROUP BY name) t ON t.name = l.name
"""


def check_consistent(link):
    """By one snapshot; returns how many hold."""
    total = 0
    for name, used, holders, waiting, capacity, *there in link.call(CONSISTENT):
        there = [int(x or 0) for x in there[:3]] + there[3:]
        assert [used, holders, waiting] == there[:3] and not there[3], (name, used, holders, there)
        assert used <= capacity, (name, used, capacity)
        total += holders
    orphans = link.call("SELECT sid, name FROM holdfast.ticket t WHERE NOT EXISTS "
                        "(SELECT FROM holdfast.session s WHERE s.sid = t.sid)")
    assert not orphans, orphans
    return total


class Busy(threading.Thread):
    """Enters many lines, in any order, leaves, is buried with all it has, and begins anew."""
    NAMES = [f"line{i}" for i in range(6)]

    def __init__(self, there, seed, end):
        super().__init__()
        self.there, self.rng, self.end = there, random.Random(seed), end
        self.link = there.connect()
        self.done, self.deadlocks, self.fault = 0, 0, None

    def run(self):
        try:
            while time.monotonic() < self.end:
                self.live()
        except Exception as fault:
            self.fault = fault

    def call(self, function, *args):
        for _ in range(20):
            try:
                self.done += 1
                return call(self.link, function, *args)
            except pq.Error as error:
                if error.code != DEADLOCK:
                    raise
                self.deadlocks += 1
        raise AssertionError("deadlocks without end")

    def live(self):
        sid = f"{self.rng.getrandbits(64):016x}"
        assert self.call("hello", VERSION, sid, 1, 1000, True, "")[0][0] == 0
        mine = []
        for id in range(1, 30):
            name = self.rng.choice(self.NAMES)
            way = self.rng.random()
            if way < 0.6:
                self.call("enter", sid, 1, id, name, self.rng.randint(1, 3), 3, False, False, 0, "", SECRET)
                mine.append((id, name))
            elif way < 0.8 and mine:
                self.call("leave", sid, 1, *self.rng.choice(mine))
            elif way < 0.85:
                self.call("mend", sid, 1, self.rng.sample(range(1, 30), 10))
            elif way < 0.9:
                self.call("watch", sid, 1, name, 0, 0)
            elif way < 0.95:
                number = self.call("renew", sid, 1)[0][1]
                self.call("sweep", 100)
                if self.rng.random() < 0.2:  # somebody thinks that they are dead
                    self.there.grow_old(number - 4, self.link)
                    era = self.link.call("SELECT holdfast.era()")[0][0]
                    self.call("bury_silent", sid, era, [number - 4], [10**6])
            else:
                rows = self.call("list", name)[1:]
                if rows:
                    self.call("break_place", name, self.rng.choice(rows)[2])
        self.call("bye", sid, 1)


@case
def many_at_once_stay_consistent():
    seed = random.randrange(10**6)
    print(f"# seed {seed}")
    there = space()
    end = time.monotonic() + options.seconds
    busy = [Busy(there, seed + i, end) for i in range(8)]
    for thread in busy:
        thread.start()
    looks = held = 0
    while any(thread.is_alive() for thread in busy):
        held += check_consistent(there.link)
        looks += 1
        time.sleep(0.01)
    for thread in busy:
        thread.join()
        thread.link.close()
    faults = [thread.fault for thread in busy if thread.fault]
    done, deadlocks = (sum(getattr(t, what) for t in busy) for what in ("done", "deadlocks"))
    print(f"# {done} calls, {deadlocks} deadlocks, {looks} looks, {held} holders seen")
    assert not faults, faults
    assert held > 0 and done > 100 and deadlocks == 0
    assert not any(there.counts().values()), there.counts()


@case
def schemas_may_be_made_by_many_at_once():
    there = space(schema=False)
    links = [there.connect() for _ in range(4)]
    faults = []

    def make(link):
        try:
            link.run(postgres.schema_text())
        except pq.Error as error:
            faults.append(error)

    threads = [threading.Thread(target=make, args=[link]) for link in links]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults
    assert there.session().enter(1, "m").state == "g"


# ---- Other isolation ----------------------------------------------------------------------


@case
def another_isolation_is_refused():
    there = space()
    a = there.session()
    seq = a.enter(1, "m").seq
    calls = {
        "hello": [VERSION, a.sid, 2, 1000, False, ""], "mend": [a.sid, 1, []], "renew": [a.sid, 1],
        "bury": [a.sid, renewal_of(there, a)], "bye": [a.sid, 1],
        "bury_silent": [a.sid, "", [], []], "sweep": [1],
        "enter": [a.sid, 1, 2, "m", 1, 1, False, False, 0, "", SECRET], "leave": [a.sid, 1, 1, "m"],
        "read": [a.sid, 1, 1], "amend": [a.sid, 1, 1, 1], "watch": [a.sid, 1, "m", 0, 0],
        "break_place": ["m", seq], "ask": ["m", seq, ""], "survey": [a.sid, 1, 0, 0], "keep_history": [0],
        "history": [None, 0]}
    assert set(NAMES) - set(calls) == {"news", "prove", "list"}  # these only look
    for level in ("serializable", "repeatable read"):
        with there.connect(f"options='-c default_transaction_isolation={level}'"
                           .replace(" read'", "\\\\ read'")) as link:
            for function, args in calls.items():
                try:
                    call(link, function, *args)
                    assert False, f"{function} does not mind {level}"
                except pq.Error as error:
                    assert error.code == "HF001" and "read committed" in str(error), error
    assert a.read(1).state == "g"


def add_options(parser):
    parser.add_argument("--seconds", type=float, default=2.0)


main(add_options, settings={"deadlock_timeout": "50ms"})
