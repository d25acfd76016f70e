#!/usr/bin/env -S python3 -B
"""procedures.py - the functions and procedures of the MariaDB store, where MariaDB is not what one would expect."""
import threading

from calls import *


def fails(code, what, *args, **more):
    try:
        what(*args, **more)
    except mywire.Error as error:
        assert error.code in ({code} if isinstance(code, int) else code), error
        return str(error)
    raise AssertionError(f"no error {code}")


# ---- Names and settings of a connection


@case
def names_are_bytes():
    """VARCHAR would ignore case and blanks at the end."""
    there = space()
    a = there.session()
    names = ("deploy", "Deploy", "deploy ", "d\u00e9ploy", "de\u0301ploy", "'\"\\`//;", "x" * 255)
    for id, name in enumerate(names, 1):
        assert a.enter(id, name).state == "g", name
    assert sorted(row[2] for row in rows(there.link, "list", None)[1:]) == sorted(names)
    there.drop()


@case
def a_long_name_is_refused_and_never_cut():
    there = space()
    a = there.session()
    there.link.run("SET sql_mode = ''")  # would cut it; that of a procedure is the one of its CREATE
    fails(1644, a.enter, 1, "x" * 256)
    fails(1644, a.enter, 1, "")
    fails(1644, a.enter, 1, "x\0y")  # clients would take it for x
    fails(1644, a.call, "watch_line", "x\0y", 0, 0)
    fails(1644, a.enter, 1, "x", 3, 2)
    fails(1644, a.enter, 1, "x", note="n" * 8193)
    assert len(rows(there.link, "list", None)) == 1
    there.drop()


@case
def another_isolation_level_does_no_harm():
    there = space(2)
    for link in there.links:
        link.run("SET tx_isolation = 'REPEATABLE-READ'")
    a, b = there.session(), there.session()
    first, second = there.links
    assert a.enter(1, "m", link=first).state == "g"
    assert b.enter(1, "m", link=second).state == "w"
    assert a.leave(1, "m", link=first) == (0, 0)
    assert b.read(1, link=second).state == "g"
    there.drop()


@case
def a_transaction_in_progress_is_refused():
    there = space()
    a = there.session()
    there.link.run("SET tx_isolation = 'REPEATABLE-READ'")
    there.link.run("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    fails(1644, a.enter, 1, "m")
    there.link.run("ROLLBACK")
    there.drop()


@case
def a_lock_that_takes_too_long_leaves_nothing_behind():
    """Error 1205 undoes the statement alone."""
    there = space()
    a = there.session()
    a.enter(1, "m")
    with there.server.connect(there.database) as other:
        other.run("START TRANSACTION; SELECT * FROM hf_line WHERE name = 'm' FOR UPDATE")
        there.link.run("SET innodb_lock_wait_timeout = 1")
        fails(1205, a.enter, 2, "m")
        assert there.link.run("SELECT @@in_transaction") == [(0,)]
        other.run("ROLLBACK")
    assert a.enter(2, "m").state == "w"
    there.drop()


@case
def every_table_is_of_InnoDB():
    there = space()
    there.sql("SET GLOBAL default_storage_engine = MyISAM")
    with contextlib.ExitStack() as after:
        after.callback(there.sql, "SET GLOBAL default_storage_engine = InnoDB")
        other = space()
        found = {(name, engine) for name, engine in other.sql(
            "SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?", other.database)}
    assert {engine for name, engine in found if name != "hf_era"} == {"InnoDB"}, found
    there.drop()
    other.drop()


# ---- Rights


@case
def a_server_that_is_read_only_is_refused():
    """Even if the account and the definer might write there."""
    there = space()
    a = there.session()
    there.sql("GRANT READ ONLY ADMIN, SUPER ON *.* TO holdfast@localhost")
    there.sql("SET GLOBAL read_only = 1")
    try:
        for call in (lambda: a.enter(1, "m"), lambda: a.leave(1, "m"), a.renew, a.fetch,
                     lambda: there.session()):
            assert "read-only" in fails({1290, 1644}, call)
        with there.server.connect(there.database) as mighty:
            mighty.run(TUNE)
            assert "read-only" in fails(1644, a.enter, 1, "m", link=mighty)
    finally:
        there.sql("SET GLOBAL read_only = 0")
        there.sql("REVOKE READ ONLY ADMIN, SUPER ON *.* FROM holdfast@localhost")
    assert a.enter(1, "m").state == "g"
    there.drop()


@case
def the_account_of_the_procedures_is_weak_and_locked():
    there = space()
    grants = [text(row[0]) for row in there.sql("SHOW GRANTS FOR holdfast@localhost")]
    assert grants[0].startswith("GRANT USAGE ON *.*"), grants
    assert all(".`hf_" in grant for grant in grants[1:]), grants
    fails(4151, there.server.connect, there.database, "holdfast", "")
    there.drop()


@case
def a_user_needs_no_right_but_to_call():
    there = space()
    there.sql("CREATE USER app@localhost")
    there.sql("GRANT EXECUTE ON `%s`.* TO app@localhost" % there.database)
    with there.server.connect(there.database, "app", "") as link:
        a = there.session()
        assert a.enter(1, "m", link=link).state == "g"
        fails(1142, link.run, "SELECT * FROM hf_session")
    there.sql("DROP USER app@localhost")
    there.drop()


# ---- What is told is on disk


def written(there):
    return int(there.sql("SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'")[0][1])


@case
def answers_that_are_relied_on_write():
    """A commit is visible before it is on disk, so such a call has a commit of its own."""
    there = space()
    a, b = there.session(), there.session()
    a.enter(1, "m")
    b.enter(1, "m")
    seq = a.read(1).seq
    for call in (lambda: a.read(1), lambda: rows(there.link, "verify", "m", seq), lambda: a.enter(1, "m"),
                 lambda: rows(there.link, "bye", "f" * 16, None)):
        before = written(there)
        call()
        assert written(there) > before, call
    a.leave(1, "m")
    before = written(there)
    assert [message.split()[:2] for message in b.fetch()] == [["g", "1"]]
    assert written(there) > before
    there.drop()


# ---- Waking


class Waker:
    """Sleeps in hf_await() on a connection of its own."""

    def __init__(self, session, milliseconds=20_000):
        self.session, self.milliseconds = session, milliseconds
        self.link, self.bed = session.space.connect(), session.space.connect()
        self.bed.run(f"DO GET_LOCK('holdfast.{session.sid}', 0)")  # as hf_fetch() does
        self.sleep()

    def sleep(self):
        self.link.send(f"CALL hf_await('{self.session.sid}', {self.milliseconds}, 0)")

    def registered(self):
        return self.session.space.sql(f"SELECT IS_USED_LOCK('holdfast.waker.{self.session.sid}')") == \
            [(self.link.thread,)]

    def awake(self, seconds):
        """Is it awake within that time?"""
        if not self.link.done(seconds):
            return False
        with contextlib.suppress(mywire.Error):  # 1317
            self.link.result()
        return True


@case
def a_grant_wakes_a_sleeper():
    there = space()
    a, b = there.session(), there.session()
    a.enter(1, "m")
    b.enter(1, "m")
    waker = Waker(b)
    within(10, waker.registered)
    assert not waker.awake(0.2)
    a.leave(1, "m")
    assert waker.awake(5)
    assert [message.split()[0] for message in b.fetch()] == ["g"]
    there.drop()


@case
def no_wake_up_is_lost():
    """The grant comes at any moment: before, while and after the waiter lies down."""
    there = space()
    a, b = there.session(), there.session()
    waker, delays = Waker(b), random.Random(7)
    within(10, waker.registered)
    for id in range(1, 301):
        a.enter(id, "m")
        b.enter(id, "m")
        releaser = threading.Thread(target=lambda id=id: (
            time.sleep(delays.random() * 0.003), a.leave(id, "m", link=there.connect())))
        releaser.start()
        woken = waker.awake(10)
        releaser.join()
        assert woken or waker.awake(1), f"round {id}"
        while not b.fetch():  # it may have been woken by the end of an earlier CALL
            waker.sleep()
            assert waker.awake(10), f"round {id}"
        b.leave(id, "m")
        waker.sleep()
    there.drop()


@case
def a_storm_of_wake_ups_holds_nobody_up():
    """As SLEEP() would: its sleepers share a mutex with all that KILL QUERY strikes."""
    there = space()
    sessions = [there.session() for _ in range(8)]
    wakers = [Waker(session) for session in sessions]
    links = [there.server.connect(there.database) for _ in sessions]
    slowest, end = [0.0], time.monotonic() + 3

    def pester(link):
        while time.monotonic() < end:
            victim, begun = random.choice(wakers).link.thread, time.monotonic()
            link.run(f"KILL QUERY {victim}")
            slowest[0] = max(slowest[0], time.monotonic() - begun)

    killers = [threading.Thread(target=pester, args=(link,)) for link in links[:3]]
    for killer in killers:
        killer.start()
    while time.monotonic() < end:
        for waker in wakers:
            if waker.awake(0):
                waker.sleep()
    for killer in killers:
        killer.join()
    assert slowest[0] < 0.9, slowest
    there.drop()


@case
def a_grant_before_the_first_sleep_is_seen():
    there = space(2)
    a, b = there.session(), there.session()
    a.enter(1, "m")
    b.enter(1, "m")
    a.leave(1, "m")
    assert Waker(b).awake(5)
    there.drop()


@case
def a_grant_that_is_not_committed_yet_is_waited_for():
    """hf_await() looks with a lock, and so waits for what was sent before it said who sleeps."""
    there = space()
    a, b = there.session(), there.session()
    a.enter(1, "m")
    b.enter(1, "m")
    with there.server.connect(there.database) as granting:
        granting.run(TUNE)
        granting.run("START TRANSACTION")
        granting.run(f"CALL hf_send('{b.sid}', 'g 1')")
        waker = Waker(b)
        assert not waker.awake(0.5)
        granting.run("COMMIT")
        assert waker.awake(5)
    assert b.fetch() == ["g 1"]
    there.drop()


@case
def a_sleeper_that_was_killed_loses_no_message():
    there = space()
    a, b = there.session(), there.session()
    a.enter(1, "m")
    b.enter(1, "m")
    waker = Waker(b)
    within(10, waker.registered)
    there.sql(f"KILL CONNECTION {waker.link.thread}")
    a.leave(1, "m")
    assert [message.split()[0] for message in b.fetch()] == ["g"]
    there.drop()


@case
def a_sleep_ends_with_the_connection_for_calls():
    there = space()
    a = there.session()
    waker = Waker(a)
    within(10, waker.registered)
    assert a.fetch(bed=True) == []  # another connection has the lock: no harm
    waker.bed.close()
    assert waker.awake(5)
    waker.sleep()
    assert waker.awake(5)  # nobody has it
    for _ in range(2):
        assert a.fetch(bed=True) == []
    waker.sleep()
    assert not waker.awake(0.3)
    there.link.run(f"DO RELEASE_LOCK('holdfast.{a.sid}')")  # as a client of which nothing waits any more
    assert waker.awake(5)
    there.drop()


@case
def bye_ends_the_sleep():
    there = space()
    a = there.session()
    waker = Waker(a)
    within(10, waker.registered)
    assert a.bye() == 0
    assert waker.awake(5)
    there.drop()


# ---- Leases


@case
def only_a_number_that_is_old_enough_expires_a_session():
    there = space()
    dead, a = there.session(ttl=1000), there.session()
    dead.enter(1, "m")
    a.enter(1, "m")
    (code, number), others = a.renew()
    assert code == 0 and set(others) == {1000} and others[1000] < number
    there.sql("UPDATE hf_session SET renewed = 0")
    assert a.expire_silent((number, 1001)) == 0  # no allowance for drift
    assert a.expire_silent((others[1000] - 1, 5000)) == 0  # drawn before its renewal
    assert a.expire_silent((number, 1002)) == 1
    assert a.read(1).state == "g"
    assert dead.renew()[0][0] == 2
    there.drop()


@case
def the_servers_clock_can_only_keep_a_session():
    there = space()
    b, a = there.session(ttl=1000), there.session()
    (_, number), _ = a.renew()
    assert a.expire_silent((number, 100_000)) == 0  # the server saw it renewed just now
    there.sql("UPDATE hf_session SET renewed = renewed + 86400000000")  # its clock was set back since
    assert a.expire_silent((number, 100_000)) == 1
    assert b.renew()[0][0] == 2
    there.drop()


@case
def numbers_of_another_run_of_the_server_do_not_count():
    there = space()
    dead, a = there.session(ttl=1000), there.session()
    before = a.era
    (_, number), _ = a.renew()
    there.server.restart()
    there.links = [there.connect()]
    there.sql("UPDATE hf_session SET renewed = 0")
    assert a.expire_silent((number, 100_000)) == 0
    a.hello()
    assert a.era != before
    (_, number), _ = a.renew()
    there.sql("UPDATE hf_session SET renewed = 0")
    assert a.expire_silent((number, 100_000)) == 1
    assert dead.renew()[0][0] == 2
    there.drop()


@case
def a_call_of_an_old_connection_is_refused():
    there = space()
    a = there.session()
    a.hello()
    assert a.enter(1, "m").state == "g"
    for procedure, *args in (("enter", 2, "m", 1, 1, 0, 0, 0, "", ""), ("leave", 1, "m"), ("read", 1),
                             ("downgrade", 1, 1), ("renew",), ("fetch", 0), ("watch_line", "m", 0, 0),
                             ("watch_store", 0, 0)):
        assert a.call(procedure, *args, connection=1)[0][0] == 3, procedure
        assert rows(there.link, procedure, a.sid, None, *args)[0][0] == 3, procedure
    assert a.hello(connection=1)[0] == 3
    there.drop()


def stuck(there, count=1):
    """So many transactions wait for another one."""
    for _ in range(50):
        time.sleep(0.15)  # the server shows the same for as long as somebody looks within 0.1 s
        if there.sql("SELECT COUNT(*) FROM information_schema.INNODB_TRX "
                     "WHERE trx_state = 'LOCK WAIT'") == [(count,)]:
            return
    raise AssertionError("they do not wait")


@case
def hello_ends_a_call_that_hangs_on_the_old_connection():
    there = space()
    a = there.session()
    a.enter(1, "m")
    old = there.connect()
    old.run(f"DO GET_LOCK('holdfast.{a.sid}.{old.thread}', 0)")  # as a client at first
    with there.server.connect(there.database) as other:
        other.run("START TRANSACTION; SELECT * FROM hf_line WHERE name = 'm' FOR UPDATE")
        old.send(f"SELECT hf_leave('{a.sid}', 1, 1, 'm')")
        stuck(there)
        assert a.hello(former=old.thread)[0] == 0
        other.run("ROLLBACK")
    assert a.read(1).state == "g"
    there.drop()


# ---- Transactions that overlap


@case
def a_session_ends_while_the_end_of_another_one_waits():
    """A subquery of SET or IF would lock what it reads."""
    there = space()
    dead, a = there.session(), there.session()
    dead.enter(1, "a")
    with there.server.connect(there.database) as held, there.connect() as ending, there.connect() as link:
        held.run("START TRANSACTION; SELECT * FROM hf_line WHERE name = 'a' FOR UPDATE")
        ending.send(f"CALL hf_bye('{dead.sid}', NULL)")
        stuck(there)
        link.send(f"CALL hf_bye('{a.sid}', {a.connection})")
        done = link.done(5)
        held.run("ROLLBACK")
        assert link.result() == ending.result() == [(0,)] and done
    there.drop()


# ---- Places and tokens


@case
def leave_needs_the_right_name_of_the_place():
    """Its line has the totals that are changed."""
    there = space()
    a, b = there.session(), there.session()
    a.enter(1, "mine")
    b.enter(1, "theirs")
    before = rows(there.link, "list", None)[1:], there.sql("SELECT * FROM hf_line ORDER BY name")
    for name in ("theirs", "nowhere"):
        assert a.leave(1, name) == (0, 0)
    after = rows(there.link, "list", None)[1:], there.sql("SELECT * FROM hf_line ORDER BY name")
    assert sorted(after[0]) == sorted(before[0]) and after[1] == before[1]
    assert a.leave(1, "mine") == (0, 0) and a.read(1).state == "-"
    there.drop()


@case
def tokens_rise_after_their_line_was_deleted():
    """Although the server's clock was set back since."""
    there = space()
    a, ahead = there.session(), 4 * 10**15  # in the year 2096
    a.enter(1, "m")
    a.leave(1, "m")
    there.sql("UPDATE hf_line SET last = ?", ahead)
    assert a.bye() == 0  # deletes lines without a place
    assert there.sql("SELECT COUNT(*) FROM hf_line") == [(0,)]
    b = there.session()
    assert b.enter(1, "m").seq == ahead + 1
    b.leave(1, "m")
    assert b.bye() == 0
    assert there.session().enter(1, "another").seq == ahead + 2
    there.drop()


# ---- Fencing


@case
def a_stale_token_is_refused_in_the_users_transaction():
    there = space()
    link = there.link
    link.run("START TRANSACTION; CALL hf_check_fence('m', 20); COMMIT")
    link.run("START TRANSACTION")
    assert "stale" in fails(1644, link.run, "CALL hf_check_fence('m', 19)")
    link.run("ROLLBACK; START TRANSACTION; CALL hf_check_fence('m', 20); COMMIT")
    there.drop()


main()
