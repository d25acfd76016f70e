#!/usr/bin/env -S python3 -B
"""overlapping_transactions - transactions of the PostgreSQL store that overlap.

    test/postgres/overlapping_transactions.py [FOLDER] [--seconds N] [CASE ...]

A commit may take long: because of the disk, a standby, or a debugger.  Other transactions do not
see uncommitted changes.  So places must be in the order of their commits, and every decision must
be based on committed data.
"""
import itertools
import random
import threading
import time

from calls import *  # noqa: F403
import pq

DEADLOCK, CONFLICT = "40P01", "40001"  # clients repeat a call after both


def two(there):
    return Actor(there), Actor(there)


def bias(session, name="m"):
    """The session has used the line alone, so its next ENTER changes only the line's row."""
    assert session.enter(1000, name).state == "g" and session.leave(1000, name) == (0, False)
    line, = [row for row in session.space.everything()["line"] if row["name"] == name]
    assert (line["sid"], line["connection"], line["id"]) == (session.sid, session.connection, None), line


# ---- Slow commits ------------------------------------------------------------------------


@case
def the_first_to_commit_is_first_in_line():
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
            assert b.is_stuck(), "it was answered before the other transaction ended"
            a.commit()
            second = b.answer()
            assert (first.state, second.state, second.ahead) == ("g", "w", 1), (first, second)
            assert second.seq > first.seq


@case
def a_rollback_leaves_no_place():
    there = space()
    a, b = two(there)
    with a, b:
        a.begin()
        lost = a.enter(1, "m")
        b.start_enter(1, "m")
        assert b.is_stuck()
        a.rollback()
        assert b.answer().state == "g"
        assert a.enter(1, "m").state == "w" and not a.session.verify("m", lost.seq)


@case
def an_uncommitted_leave_does_not_count():
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
def one_of_many_that_enter_at_once_is_granted():
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
def other_lines_do_not_have_to_wait():
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
        assert b.row() == (0, True), "the line was empty when b listed it"
        stamp, _ = b.session.list("m")
        a.begin()
        a.session.leave(1, "m", link=a.link)
        b.start("watch", "m", stamp, 0)
        assert b.is_stuck()
        a.commit()
        assert b.row() == (0, True)


# ---- Sessions that end ----------------------------------------------------------------


def renewal_of(there, session):
    return there.link.call("SELECT renewal FROM holdfast.session WHERE sid = $1",
                           session.sid)[0][0]


@case
def a_session_that_expires_while_it_enters_leaves_no_place():
    for biased in (False, True):
        expires_while_it_enters(biased)


def expires_while_it_enters(biased):
    there = space()
    a, b = two(there)
    with a, b:
        renewal = renewal_of(there, a.session)
        if biased:
            bias(a.session)
        a.begin()
        assert a.enter(1, "m").state == "g"
        b.start_outside("expire", a.session.sid, renewal)
        assert b.is_stuck()
        a.commit()
        assert b.row() == (True,)
        assert there.counts()["every_place"] == 0
        assert b.enter(1, "m").state == "g"


@case
def a_session_that_enters_while_it_expires_is_refused():
    there = space()
    for end, biased in itertools.product(("COMMIT", "ROLLBACK"), (False, True)):
        a, b = two(there)
        with a, b:
            if biased:
                bias(a.session, f"{end} {biased}")
            b.begin()
            assert call(b.link, "expire", a.session.sid, renewal_of(there, a.session)) == [(True,)]
            a.start_enter(1, f"{end} {biased}")
            assert a.is_stuck()
            b.link.run(end)
            assert a.answer().code == (2 if end == "COMMIT" else 0)


@case
def an_enter_that_waited_for_its_session_is_answered_as_usual():
    """Whoever begins to keep a history locks all sessions."""
    there = space()
    for end, biased in itertools.product(("COMMIT", "ROLLBACK"), (False, True)):
        a, b = two(there)
        with a, b:
            if biased:
                bias(a.session)
            b.begin()
            call(b.link, "keep_history", 10)
            a.start_enter(1, "m")
            assert a.is_stuck()
            b.link.run(end)
            assert a.answer().state == "g", (end, biased)
            assert a.session.leave(1, "m") == (0, False)
            there.session().keep_history(0)


@case
def expire_silent_limits_the_places_of_one_call():
    """Sessions with many places expire in separate calls."""
    there = space()
    dead = [there.session() for _ in range(4)]
    me = there.session()
    for session, places in zip(dead, (600, 600, 10, 1200)):
        there.link.call("SELECT count(*) FROM generate_series(1, $3::bigint) i, LATERAL holdfast.enter("
                        "$1, $2, i, 'n' || i, 1, 4294967295, false, false, 0, '', '')",
                        session.sid, session.connection, places)
    drawn = (renewal_of(there, dead[-1]), 10**6)
    there.grow_old()
    assert [me.expire_silent(drawn) for _ in range(4)] == [1, 2, 1, 0]
    assert there.counts()["every_place"] == 0


@case
def a_session_that_renews_does_not_expire():
    there = space()
    a, b = two(there)
    with a, b:
        renewal = renewal_of(there, a.session)
        a.begin()
        assert a.session.call("renew", link=a.link)[0][0] == 0
        b.start_outside("expire", a.session.sid, renewal)
        assert b.is_stuck()
        a.commit()
        assert b.row() == (False,)
        assert a.enter(1, "m").state == "g"


@case
def a_new_connection_waits_for_calls_of_the_old_one():
    for biased in (False, True):
        there = space()
        a = there.session()
        old, new = Actor(there, a), Actor(there, a)
        with old, new:
            if biased:
                bias(a), bias(a, "free")
            old.begin()
            old.enter(1, "m")
            new.start_outside("hello", VERSION, a.sid, a.connection + 1, 1000, False, "")
            assert new.is_stuck()
            old.commit()
            assert new.row()[0] == 0
            assert old.enter(2, "m").code == old.enter(2, "free").code == 3
            assert old.session.leave(1, "m", link=old.link) == (3, False)
            a.connection += 1
            assert a.read(1).state == "g" and a.reclaim() == 0 and a.read(1).state == "-"


@case
def a_call_that_waits_for_hello_is_refused():
    """Hello comes first, and the call of the older connection must see that when it goes on."""
    there = space()
    a = there.session()
    old, new = Actor(there, a), Actor(there, a)
    bias(a)
    with old, new:
        new.begin()
        assert call(new.link, "hello", VERSION, a.sid, a.connection + 1, 1000, False, "")[0][0] == 0
        old.start_enter(1, "m")
        assert old.is_stuck()
        new.commit()
        assert old.answer().code == 3
        assert there.counts()["every_place"] == 0


@case
def a_session_key_waits_for_calls_of_the_owner():
    for biased in (False, True):
        there = space()
        a = there.session()
        owner, other = Actor(there, a), Actor(there, a)
        with owner, other:
            if biased:
                bias(a)
            owner.begin()
            owner.enter(1, "m")
            other.start_outside("bye", a.sid, None)
            assert other.is_stuck()
            owner.commit()
            assert other.row()[0] == 0
            assert owner.enter(2, "m").code == 2 and there.counts()["every_place"] == 0


@case
def a_place_stays_while_it_moves_out_of_the_row_of_its_line():
    """Whatever happens at the same time to a holder in a biased line."""
    there = space()
    a, b = two(there)
    with a, b:
        bias(a.session)
        token = a.enter(1, "m").seq
        b.begin()
        assert b.enter(1, "m").state == "w"
        c = there.session()
        assert c.verify("m", token) and len(c.list("m")[1]) == 1, "the waiter is not there yet"
        a.start("leave", 1, "m")
        assert a.is_stuck()
        b.commit()
        assert a.row() == ("0 0",)
        assert b.session.read(1).state == "g" and not c.verify("m", token)
        assert there.messages()[-1][1].startswith("g 1 -1 ")


@case
def ids_that_are_used_twice_harm_only_their_session():
    """No client of ours does that.  The session can still be ended, and its locks are free then."""
    there = space()
    a, b = there.session(), there.session()
    for name in "mno":
        bias(a, name)
    for name in "mno":
        assert a.enter(1, name).state == "g"
    assert [b.enter(i, name).state for i, name in enumerate("mno")].count("w") == 1
    assert a.bye() == 0
    assert [row[6] for row in b.list()[1]] == ["g"] * 3
    assert there.link.call("SELECT wrong FROM holdfast.overview(NULL)") == [(0,)]


@case
def tokens_rise_if_a_session_begins_while_the_last_one_ends():
    """Lines are deleted with the last session; their tokens continue."""
    there = space()
    a, b = two(there)
    with a, b:
        there.change("UPDATE holdfast.head SET floor = $1", 10**17)  # the clock has been there once
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
def a_line_made_during_its_deletion_continues_its_tokens():
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


@case
def a_line_made_between_two_statements_of_another_call_keeps_its_holder():
    """A trigger stops a call after its second UPDATE of lines, with or without rows."""
    there = space()
    a, b = two(there)
    owner = there.server.connect(there.database)
    owner.run("""
        CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF current_setting('test.updates', true) <> '' THEN
                PERFORM set_config('test.updates', current_setting('test.updates')::int + 1 || '', false);
                IF current_setting('test.updates') = '2' THEN
                    PERFORM pg_advisory_lock_shared(1);
                END IF;
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER stop AFTER UPDATE ON holdfast.line FOR EACH STATEMENT EXECUTE FUNCTION stop();
        SELECT pg_advisory_lock(1)""")
    with a, b:
        a.link.run("SET test.updates = 0")
        a.start_enter(1, "m")
        assert a.is_stuck()
        b.start_enter(1, "m")
        b.is_stuck()  # if it is not, it has the lock
        owner.run("SELECT pg_advisory_unlock(1)")
        first, second = sorted((a.answer(), b.answer()), key=lambda answer: answer.seq)
        assert (first.state, second.state) == ("g", "w"), (first, second)
        assert there.link.call("SELECT wrong FROM holdfast.overview(NULL)") == [(0,)]
    owner.close()


@case
def a_line_made_anew_while_a_session_ends_keeps_its_holder():
    """A line that was biased toward the session is deleted, and then biased toward another one."""
    there = space()
    a, b, blocker = Actor(there), Actor(there), Actor(there)
    owner = there.server.connect(there.database)
    owner.run("""
        CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF current_setting('test.stop', true) <> '' THEN
                PERFORM pg_advisory_lock_shared(1);
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER stop AFTER INSERT ON holdfast.place FOR EACH STATEMENT EXECUTE FUNCTION stop();
        SELECT pg_advisory_lock(1)""")
    with a, b, blocker:
        bias(a.session, "a")
        bias(a.session)
        blocker.begin()
        blocker.enter(1, "a")
        a.link.run("SET test.stop = yes")
        a.start("bye")
        assert a.is_stuck(), "it waits for a"
        there.change("UPDATE holdfast.line SET last = 0 WHERE name = 'm'")  # it has been free for long
        assert b.session.sweep() == 1
        bias(b.session)
        blocker.commit()
        assert a.is_stuck(), "it has locked its lines"
        b.start_enter(1, "m")
        b.is_stuck()
        owner.run("SELECT pg_advisory_unlock(1)")
        assert a.row() == (0,) and b.answer().state == "g"
        assert blocker.enter(2, "m").state == "w"
        assert there.link.call("SELECT wrong FROM holdfast.overview(NULL)") == [(0,)]
    owner.close()


@case
def a_line_that_is_watched_while_it_is_swept_stays():
    there = space()
    a, b = two(there)
    owner = there.server.connect(there.database)
    owner.run("""
        CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_lock_shared(1);
            RETURN NULL;
        END $$;
        CREATE TRIGGER stop BEFORE DELETE ON holdfast.line FOR EACH STATEMENT EXECUTE FUNCTION stop();
        SELECT pg_advisory_lock(1)""")
    with a, b:
        bias(a.session)
        there.change("UPDATE holdfast.line SET last = 0")  # it has been free for long
        a.start_outside("sweep", 100)
        assert a.is_stuck()
        b.start("watch", "m", 0, 0)
        b.is_stuck()  # if it is not, it watches
        owner.run("SELECT pg_advisory_unlock(1)")
        assert b.row() == (0, False) and a.row() in ((0,), (1,))
        assert [row["watched"] for row in there.everything()["line"]] == [True]
        there.messages()
        assert a.enter(1, "m").state == "g" and there.messages() == [(b.session.sid, "c m")]
    owner.close()


@case
def a_watcher_that_does_not_expire_after_all_is_notified():
    there = space()
    a, b = two(there)
    watcher = there.session()
    with a, b:
        assert watcher.watch("m") == (0, False)
        there.messages()
        b.begin()
        assert call(b.link, "expire", watcher.sid, None) == [(True,)]
        a.start_enter(1, "m")
        a.is_stuck()
        b.rollback()
        assert a.answer().state == "g"
        assert there.messages() == [(watcher.sid, "c m")]


# ---- Many at once ------------------------------------------------------------------------

CONSISTENT = """
    SELECT l.name, l.used, l.holders, l.waiting, l.capacity, t.used, t.holders, t.waiting, t.bad
    FROM holdfast.line l LEFT JOIN (
        SELECT name, coalesce(sum(weight) FILTER (WHERE state = 'g'), 0) AS used,
               count(*) FILTER (WHERE state = 'g') AS holders,
               count(*) FILTER (WHERE state = 'w') AS waiting,
               coalesce(max(seq) FILTER (WHERE state = 'g') >
                        min(seq) FILTER (WHERE state = 'w'), false) AS bad
        FROM holdfast.every_place GROUP BY name) t ON t.name = l.name
"""


def check_consistent(link):
    """Check the tables by one snapshot; returns the number of holders."""
    total = 0
    for name, used, holders, waiting, capacity, *there in link.call(CONSISTENT):
        there = [int(x or 0) for x in there[:3]] + there[3:]
        assert [used, holders, waiting] == there[:3] and not there[3], (name, used, holders, there)
        assert used <= capacity, (name, used, capacity)
        total += holders
    orphans = link.call("SELECT sid, name FROM holdfast.every_place t WHERE NOT EXISTS "
                        "(SELECT FROM holdfast.session s WHERE s.sid = t.sid)")
    assert not orphans, orphans
    return total


class Busy(threading.Thread):
    """Enters many lines in any order, leaves, expires with all its places, and begins again."""
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
                if error.code not in (DEADLOCK, CONFLICT):
                    raise
                self.deadlocks += error.code == DEADLOCK
        raise AssertionError("conflicts without end")

    def live(self):
        sid = f"{self.rng.getrandbits(64):016x}"
        assert self.call("hello", VERSION, sid, 1, 1000, True, "")[0][0] == 0
        mine = []
        for id in range(1, 30):
            name = self.rng.choice(self.NAMES)
            way = self.rng.random()
            if way < 0.3:
                self.call("enter", sid, 1, id, name, self.rng.randint(1, 3), 3, False, False, 0, "", SECRET)
                mine.append((id, name))
            elif way < 0.6:  # mutexes, which nobody holds for long
                name = "mutex " + name
                for _ in range(self.rng.randint(1, 3)):
                    self.call("enter", sid, 1, 100 * id, name, 1, 1, False, False, 0, "", SECRET)
                    self.call("leave", sid, 1, 100 * id, name)
            elif way < 0.8 and mine:
                self.call("leave", sid, 1, *self.rng.choice(mine))
            elif way < 0.85:
                self.call("reclaim", sid, 1, self.rng.sample(range(1, 30), 10))
            elif way < 0.9:
                self.call("watch", sid, 1, name, 0, 0)
            elif way < 0.95:
                number = self.call("renew", sid, 1)[0][1]
                self.call("sweep", 100)
                if self.rng.random() < 0.2:  # expire sessions that are alive
                    self.there.grow_old(number - 4, self.link)
                    era = self.link.call("SELECT holdfast.era()")[0][0]
                    self.call("expire_silent", sid, era, [number - 4], [10**6])
            else:
                rows = self.call("list", name)[1:]
                if rows:
                    self.call("break_place", name, self.rng.choice(rows)[2])
        self.call("bye", sid, 1)


@case
def many_sessions_at_once_keep_the_tables_consistent():
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
def many_clients_may_make_the_schema_at_once():
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
def other_isolation_levels_are_refused():
    there = space()
    a = there.session()
    seq = a.enter(1, "m").seq
    calls = {
        "hello": [VERSION, a.sid, 2, 1000, False, ""], "reclaim": [a.sid, 1, []], "renew": [a.sid, 1],
        "expire": [a.sid, renewal_of(there, a)], "bye": [a.sid, 1],
        "expire_silent": [a.sid, "", [], []], "sweep": [1],
        "enter": [a.sid, 1, 2, "m", 1, 1, False, False, 0, "", SECRET], "leave": [a.sid, 1, 1, "m"],
        "read": [a.sid, 1, 1, "m"], "downgrade": [a.sid, 1, 1, "m", 1], "watch": [a.sid, 1, "m", 0, 0],
        "break_place": ["m", seq], "ask": ["m", seq, ""], "watch_store": [a.sid, 1, 0, 0], "keep_history": [0],
        "history": [None, 0]}
    assert set(NAMES) - set(calls) == {"messages", "verify", "list"}  # these only read
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
