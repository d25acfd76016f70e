#!/usr/bin/env -S python3 -B
"""whole.py - a call of the MariaDB store changes all or nothing, whatever ends it and whatever its caller sets.

    test/mariadb/whole.py FOLDER [--seconds N] [--seed N] [CASE ...]

Seconds are for the random kills; the seed decides when they come.
"""
import threading

from calls import *

CALLER = "caller"  # an account that may call what grant.sql names, and nothing else
WRONG = """
    SELECT CONCAT('line ', l.name, ' ', l.used, ' ', l.holders, ' ', l.waiting) FROM hf_line l WHERE
        (l.used, l.holders, l.waiting) <> (SELECT COALESCE(SUM(IF(state = 'g', weight, 0)), 0),
         COUNT(IF(state = 'g', 1, NULL)), COUNT(IF(state = 'w', 1, NULL)) FROM hf_place p WHERE p.name = l.name)
        OR l.capacity < l.used
    UNION ALL SELECT CONCAT('nobody''s place ', name, ' ', sid) FROM hf_place WHERE sid NOT IN (SELECT sid FROM hf_session)
        OR name NOT IN (SELECT name FROM hf_line)
    UNION ALL SELECT CONCAT('nobody''s watch ', name) FROM hf_watch WHERE sid NOT IN (SELECT sid FROM hf_session)
    UNION ALL SELECT CONCAT('a watch that nobody sees ', w.name) FROM hf_watch w LEFT JOIN hf_line l ON l.name = w.name
        WHERE COALESCE(l.watched, 0) = 0
    UNION ALL SELECT CONCAT('nobody''s message ', text) FROM hf_message WHERE sid NOT IN (SELECT sid FROM hf_session)
    UNION ALL SELECT CONCAT('nobody''s change ', name) FROM hf_changed WHERE sid NOT IN (SELECT sid FROM hf_store_watcher)
    UNION ALL SELECT 'nobody''s store watch' FROM hf_store_watcher WHERE sid NOT IN (SELECT sid FROM hf_session)
    UNION ALL SELECT CONCAT('left behind ', n) FROM hf_write
    UNION ALL SELECT CONCAT('could be granted: ', l.name) FROM hf_line l JOIN hf_place p ON p.name = l.name
        WHERE p.state = 'w' AND l.used + p.weight <= l.capacity AND
              p.seq = (SELECT MIN(seq) FROM hf_place q WHERE q.name = l.name AND q.state = 'w')"""


def check(there, when):
    found = [text(row[0]) for row in there.sql(WRONG)]
    assert not found, (when, found)


def grant(there):
    """As an administrator does with `init --print --grant`."""
    there.sql(f"CREATE OR REPLACE USER {CALLER}@localhost")
    for line in (SCHEMA.parent / "grant.sql").read_text().splitlines():
        if line.startswith("GRANT"):
            there.sql(line.replace("@role@", f"{CALLER}@localhost").removesuffix(" //"))


def as_caller(there):
    return there.server.connect(there.database, CALLER, "")


class Scene:
    """Two sessions that hold, wait, watch a line and watch the store, with history; and every call."""

    def __init__(self, there):
        self.there, self.id = there, 0
        self.a, self.b = there.session(), there.session()
        rows(there.link, "keep_history", 50)

    def prepare(self):
        """a holds `m` and waits for `n`, which b holds; a reader holds `r` beside a writer that waits."""
        for session in (self.a, self.b):
            if session.renew()[0][0] != 0:
                session.__init__(self.there)
                session.hello()
        a, b, self.id = self.a, self.b, self.id + 10
        for session, id, name, weight, capacity in ((a, 1, "m", 1, 1), (b, 1, "m", 1, 1), (b, 2, "n", 1, 2),
                                                    (a, 2, "n", 2, 2), (a, 3, "r", 5, 5), (b, 3, "r", 1, 5)):
            session.enter(self.id + id, name, weight, capacity)
        b.call("watch_line", "m", 0, 0)
        b.call("watch_store", 0, 0)

    def calls(self):
        """(name, arguments) of each, by name."""
        a, b, id = self.a, self.b, self.id
        mine = a.sid, a.connection
        seq = self.there.sql("SELECT COALESCE(MIN(seq), 0) FROM hf_place WHERE name = 'm'")[0][0]
        yield from (
            ("enter", *mine, id + 5, "m", 1, 1, 0, 0, 0, "note", SECRET),
            ("enter", *mine, id + 6, f"new {id}", 1, 3, 0, 0, 0, "", SECRET),
            ("leave", *mine, id + 1, "m"), ("leave", b.sid, b.connection, id + 2, "n"),
            ("read", *mine, id + 2), ("downgrade", *mine, id + 3, 1), ("watch_line", *mine, "m", 0, 0),
            ("watch_store", *mine, 0, 0), ("watch_store", b.sid, b.connection, 0, 1), ("fetch", *mine, 0),
            ("renew", *mine), ("break_place", "m", seq, "by"), ("ask", "n", seq, "why"), ("verify", "m", seq),
            ("hello", VERSION, a.sid, a.connection + 1, TTL, 0, "", 0, ""), ("keep_history", 50),
            ("history", None, 0), ("sweep", 1000), ("expire_silent", b.sid, a.era, "9223372036854775807 99999999"),
            ("bye", a.sid, None), ("expire", b.sid), ("recount",), ("list", None), ("overview", "m"))

    def clear(self):
        for session in (self.a, self.b):
            rows(self.there.link, "bye", session.sid, None)


def attempt(link, name, *args):
    """The number of the error, or 0."""
    try:
        rows(link, name, *args)
    except mywire.Error as error:
        return error.code or -1
    return 0


# ---- Kills


@case
def a_query_that_is_killed_at_random_changes_all_or_nothing():
    """Each call, under KILL QUERY; then its caller commits what may be left."""
    there, rng = space(), random.Random(options.seed)
    scene, killer = Scene(there), there.server.connect(there.database)
    link, struck, total, longest = there.connect(), 0, 0, {}
    strike, struck_at = threading.Event(), threading.Event()
    delay = [0.0]

    def kill():
        while strike.wait() and delay[0] is not None:
            strike.clear()
            end = time.perf_counter() + delay[0]
            while time.perf_counter() < end:
                pass
            with contextlib.suppress(mywire.Error):
                killer.run(f"KILL QUERY {link.thread}")
            struck_at.set()

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            scene.prepare()
            there.sql("UPDATE hf_session SET renewed = 0 WHERE sid = ?", scene.a.sid)
            order = list(scene.calls())
            rng.shuffle(order)
            for name, *args in order[:6]:
                delay[0] = rng.random() * longest.get(name, 0.002) * 1.2
                strike.set()
                begun = time.perf_counter()
                error = attempt(link, name, *args)
                took = time.perf_counter() - begun
                struck_at.wait()
                struck_at.clear()
                if error == 0:
                    longest[name] = 0.8 * longest.get(name, took) + 0.2 * took
                assert error in (0, 1317, 1329, 1644), (name, error)
                total, struck = total + 1, struck + (error != 0)
                for words in ("SELECT 1", "COMMIT"):
                    with contextlib.suppress(mywire.Error):
                        link.run(words)
                check(there, (name, error))
            scene.clear()
            check(there, "after both sessions ended")
            assert there.sql("SELECT COUNT(*) FROM hf_place") == [(0,)]
    finally:
        delay[0] = None
        strike.set()
        thread.join()
    print(f"# --seed {options.seed}: {struck} of {total} calls were struck")
    assert struck > 5
    there.drop()


# ---- What a session may set

SETTINGS = (
    "timestamp = 1", "timestamp = UNIX_TIMESTAMP() + 100000", "time_zone = '+13:00'", "insert_id = 9223372036854775806",
    "last_insert_id = 7", "autocommit = 0", "completion_type = 'RELEASE'", "completion_type = 'CHAIN'", "sql_mode = ''",
    "sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,ORACLE'", "sql_select_limit = 0",
    "sql_select_limit = 1", "foreign_key_checks = 0", "unique_checks = 0, foreign_key_checks = 0",
    "max_statement_time = 0.0003", "lock_wait_timeout = 0", "innodb_lock_wait_timeout = 0", "innodb_table_locks = 0",
    "innodb_strict_mode = 0", "tx_isolation = 'READ-UNCOMMITTED'", "tx_isolation = 'REPEATABLE-READ'",
    "tx_isolation = 'SERIALIZABLE'", "tx_read_only = 1", "group_concat_max_len = 4", "sql_safe_updates = 1",
    "big_tables = 1", "max_sort_length = 64", "collation_connection = ucs2_general_ci", "optimizer_switch = 'mrr=on'",
    "sql_big_selects = 0, max_join_size = 1", "div_precision_increment = 0", "low_priority_updates = 1",
    "max_sp_recursion_depth = 0", "sql_auto_is_null = 1", "sql_buffer_result = 1", "standard_compliant_cte = 0",
    "in_predicate_conversion_threshold = 1", "default_week_format = 3", "lc_time_names = 'de_DE'")

@case
def no_setting_of_a_caller_breaks_a_call():
    """It works or fails as a whole, leaves no transaction, and others see the true time."""
    there = space()
    grant(there)
    scene = Scene(there)
    for setting in SETTINGS:
        with as_caller(there) as link:
            try:
                link.run(f"SET SESSION {setting}")
            except mywire.Error as error:
                assert error.code in (1193, 1231, 1232), (setting, error)
                continue
            scene.prepare()
            for name, *args in scene.calls():
                if name == "bye":
                    continue  # the others need the session
                attempt(link, name, *args)
                with contextlib.suppress(mywire.Error):
                    link.run("COMMIT")
                if name in ("enter", "watch_store", "expire_silent"):
                    check(there, (setting, name))
            check(there, setting)
            now = time.time() * 1e6
            for column, table in (("last", "hf_line"), ("since", "hf_place"), ("renewed", "hf_session")):
                (least, most), = there.sql(f"SELECT MIN({column}), MAX({column}) FROM {table}")
                assert least is None or now - 600e6 < least and most < now + 60e6, (setting, column, least, most)
            assert scene.a.renew()[0][0] in (0, 3) and scene.b.renew()[0][0] == 0, (setting, "a session ended")
        scene.clear()
        check(there, (setting, "after the sessions ended"))
    there.drop()


@case
def a_call_inside_a_transaction_is_refused_and_a_setting_for_one_is_harmless():
    there = space()
    scene = Scene(there)
    with there.server.connect(there.database) as link:
        for words in ("START TRANSACTION", "SET autocommit = 0", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                      "SET TRANSACTION READ ONLY", "SET STATEMENT max_statement_time = 0.0002 FOR DO 1"):
            scene.prepare()
            link.run("SET autocommit = 1")
            for name, *args in scene.calls():
                link.run("ROLLBACK")
                link.run(words)
                error = attempt(link, name, *args)
                if words in ("START TRANSACTION", "SET autocommit = 0"):
                    assert error == 1644, (name, error)
                link.run("COMMIT")
                check(there, (words, name))
            scene.clear()
    there.drop()


@case
def no_call_leaves_rows_locked_for_the_transaction_of_its_caller():
    """As a plain read in a SERIALIZABLE one would: nobody could take or leave a lock until it ends."""
    there = space()
    scene = Scene(there)
    with there.server.connect(there.database) as link, there.connect() as other:
        other.run("SET innodb_lock_wait_timeout = 0")
        scene.prepare()
        for name, *args in scene.calls():
            link.run("SET tx_isolation = 'SERIALIZABLE'; START TRANSACTION")
            attempt(link, name, *args)
            for words in ("head", "session", "line", "place", "watch", "log", "message", "sweeper", "store_watcher"):
                assert attempt_text(other, f"SELECT * FROM hf_{words} FOR UPDATE") == 0, (name, words)
            link.run("ROLLBACK")
    there.drop()


@case
def a_look_for_messages_that_is_killed_keeps_none_from_being_sent():
    """Above READ COMMITTED it locks gaps, for all sessions; then it waits for a change in progress."""
    there = space()
    a, b = there.session(), there.session()
    with there.connect() as other, there.server.connect(there.database) as link:
        other.run("SET innodb_lock_wait_timeout = 1; START TRANSACTION")
        other.call("INSERT INTO hf_changed VALUES (?, 'x', 1)", a.sid)
        for begin in ("SET autocommit = 0", "SET autocommit = 1; START TRANSACTION"):
            link.run(f"SET tx_isolation = 'REPEATABLE-READ'; {begin}")
            call = f"SET STATEMENT max_statement_time = 0.3 FOR CALL hf_await('{a.sid}', 0, 1)"
            assert attempt_text(link, call) == 1969
            other.call("INSERT INTO hf_message VALUES (?, UUID_SHORT(), 'g')", b.sid)
            link.run("ROLLBACK")
    there.drop()


# ---- Rights


@case
def an_account_with_execute_alone_can_neither_end_nor_forge_nor_break():
    there = space()
    grant(there)
    there.sql(f"GRANT EXECUTE ON `{there.database}`.* TO everything@localhost IDENTIFIED BY ''")
    a, b = there.session(), there.session()
    token = a.enter(1, "m").seq
    b.enter(1, "m")
    sleeper = there.connect()
    bed = there.connect()
    bed.run(f"DO GET_LOCK('holdfast.{b.sid}', 0)")
    sleeper.send(f"CALL hf_await('{b.sid}', 20000, 0)")
    within(10, lambda: there.sql(f"SELECT IS_USED_LOCK('holdfast.waker.{b.sid}')") == [(sleeper.thread,)])
    with as_caller(there) as evil:
        mine = "e" * 16
        era = rows(evil, "hello", VERSION, mine, 1, 3600000, 1, "", 0, "")[0][4]
        for thread in range(1, sleeper.thread + 10):  # each connection as the former one of its session
            if thread != evil.thread:
                rows(evil, "hello", VERSION, mine, 1, 3600000, 0, "", thread, era)
        for clock in ("DEFAULT", "1", "UNIX_TIMESTAMP() + 100000"):
            evil.run(f"SET timestamp = {clock}")
            assert rows(evil, "expire_silent", mine, era, "9223372036854775807 1000000000") == [(0, 0)], clock
        for words in (f"SELECT hf_expire('{a.sid}')", f"SELECT hf_break_place('m', {token}, '')", "CALL hf_recount()",
                      f"SELECT hf_close('{a.sid}', NULL)", f"CALL hf_remove_session('{a.sid}', 0, 'x')",
                      f"CALL hf_send('{b.sid}', 'g 1')", "CALL hf_settle('m', 0, 0, 1, '', 0, 0)",
                      "SELECT hf_sweep_lines(1)", "DELETE FROM hf_place", "SELECT * FROM hf_session"):
            code = attempt_text(evil, words)
            assert code in (1142, 1143, 1370), (words, code)
    with there.server.connect(there.database, "everything", "") as evil:  # inner ones are the caller's to run
        for words in (f"CALL hf_remove_session('{a.sid}', 0, 'x')", f"CALL hf_send('{b.sid}', 'g 1')",
                      "CALL hf_settle('m', 0, 0, 1, '', 0, 0)", f"SELECT hf_close('{a.sid}', NULL)",
                      f"SELECT hf_expire_one('{mine}', 9223372036854775807, 1000000000)", "CALL hf_set_log(0)",
                      "SELECT hf_number_history()", "CALL hf_make_line('x', 1, 0)", "CALL hf_write_something()",
                      f"SELECT hf_own_place('{a.sid}', 1)", f"SELECT hf_prolong('{a.sid}', 1)",
                      f"SELECT hf_open({VERSION}, '{mine}', 1, 1000, 1, '')", "SELECT hf_recount_line('m')"):
            code = attempt_text(evil, words)
            assert code in (1142, 1143), (words, code)
    assert not sleeper.done(0), "somebody else's query was ended"
    assert a.renew()[0][0] == 0 and a.read(1).state == "g" and b.read(1).state == "w"
    check(there, "the attack")
    sleeper.close()
    bed.close()
    there.sql("DROP USER everything@localhost")
    there.drop()


def attempt_text(link, words):
    try:
        link.run(words)
    except mywire.Error as error:
        return error.code
    return 0


# ---- What is left of those that are gone


@case
def a_waker_of_before_a_restart_is_nobody():
    """Numbers of connections begin again; the query of a stranger has the same one."""
    there = space()
    a, b = there.session(), there.session()
    a.enter(1, "m")
    b.enter(1, "m")
    for _ in range(3):
        there.connect()
    sleeper, bed = there.connect(), there.connect()
    bed.run(f"DO GET_LOCK('holdfast.{b.sid}', 0)")
    sleeper.send(f"CALL hf_await('{b.sid}', 20000, 0)")
    number = sleeper.thread
    within(10, lambda: there.sql(f"SELECT IS_USED_LOCK('holdfast.waker.{b.sid}')") == [(number,)])
    there.server.restart()
    there.links = [there.connect()]
    while (there.sql("SELECT CONNECTION_ID()")[0][0]) < number - 2:
        pass
    strangers = [there.connect() for _ in range(4)]
    assert number in [stranger.thread for stranger in strangers]
    for stranger in strangers:
        stranger.send("SELECT SLEEP(0.5)")
    assert a.leave(1, "m") == (0, 0)
    for stranger in strangers:
        assert stranger.result() == [(0,)], "its query was ended"
    assert [message.split()[0] for message in b.fetch()] == ["g"]
    there.drop()


@case
def a_session_that_ends_leaves_no_changes_behind():
    """Another one writes them down at that moment."""
    there, stop = space(), threading.Event()
    busy = there.session()
    link = there.connect()

    def change():
        id = 0
        while not stop.is_set():
            id += 1
            with contextlib.suppress(mywire.Error):  # 1213
                busy.enter(id, f"line {id % 20}", link=link)
                busy.leave(id, f"line {id % 20}", link=link)

    changing = threading.Thread(target=change)
    changing.start()
    try:
        end = time.monotonic() + min(options.seconds, 3)
        while time.monotonic() < end:
            watcher = there.session()
            watcher.call("watch_store", 0, 0)
            watcher.call("watch_store", 0, 0)
            while True:
                with contextlib.suppress(mywire.Error):
                    watcher.bye()
                    break
    finally:
        stop.set()
        changing.join()
    check(there, "the end of store watches")
    there.drop()


@case
def autocommit_off_does_not_slow_a_wake_up():
    there = space()
    a, b = there.session(), there.session()
    a.enter(1, "m")
    b.enter(1, "m")
    sleeper, bed = there.connect(), there.connect()
    bed.run(f"DO GET_LOCK('holdfast.{b.sid}', 0)")
    sleeper.run("SET autocommit = 0")
    sleeper.send(f"CALL hf_await('{b.sid}', 20000, 1)")
    within(10, lambda: there.sql(f"SELECT IS_USED_LOCK('holdfast.waker.{b.sid}')") == [(sleeper.thread,)])
    a.leave(1, "m")
    assert sleeper.done(2)
    assert [message.split()[0] for message in b.fetch()] == ["g"]
    with contextlib.suppress(mywire.Error):
        sleeper.result()
    assert sleeper.run("SELECT @@in_transaction") == [(0,)]
    there.drop()


# ---- For administrators


@case
def recount_corrects_totals_that_were_changed_by_hand():
    there = space()
    a, b = there.session(), there.session()
    for id, name in enumerate(("used", "stuck", "gone", "fine"), 1):
        assert a.enter(id, name).state == "g"
        assert b.enter(id, name).state == "w"
    last = a.read(3).seq
    there.sql("UPDATE hf_line SET used = 0, holders = 7 WHERE name = 'used'")
    there.sql("DELETE FROM hf_place WHERE name = 'stuck' AND state = 'g'")
    there.sql("DELETE FROM hf_line WHERE name = 'gone'")
    assert rows(there.connect(), "recount") == [(0, 3)]
    check(there, "recount")
    assert b.read(2).state == "g" and b.read(1).state == b.read(4).state == "w"
    assert a.enter(9, "gone").seq > last
    assert rows(there.connect(), "recount") == [(0, 0)]
    there.drop()


@case
def totals_never_fall_below_what_is_there():
    """They were changed by hand."""
    there = space()
    a, b, c = there.session(), there.session(), there.session()
    a.enter(1, "m")
    b.enter(1, "m")
    there.sql("UPDATE hf_line SET used = 0, holders = 0 WHERE name = 'm'")
    a.leave(1, "m")
    check(there, "a leave")
    assert b.read(1).state == "g" and c.enter(1, "m").state == "w"
    there.drop()


# ---- Fencing


@case
def a_check_of_a_token_locks_no_place():
    """Others would wait for the end of the user's transaction."""
    there = space()
    a, b = there.session(), there.session()
    for level, capacity in (("READ COMMITTED", 9), ("REPEATABLE READ", 1), ("SERIALIZABLE", 1)):
        first = a.enter(1, "m", 1, capacity).seq
        if capacity > 1:  # they share it
            rows(there.link, "check_fence", "m", b.enter(1, "m", 1, capacity).seq)
        with there.server.connect(there.database) as link, there.connect() as other:
            link.run(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}; START TRANSACTION")
            link.run(f"CALL hf_check_fence('m', {first})")
            other.run("SET innodb_lock_wait_timeout = 1")
            assert rows(other, "ask", "m", first, "why") == [(0,)], level
            assert a.leave(1, "m", link=other) == b.leave(1, "m", link=other) == (0, 0), level
            link.run("COMMIT")
    there.drop()


@case
def a_place_that_was_lost_since_the_transaction_began_passes_no_check():
    there = space()
    a, b = there.session(), there.session()
    for id, level in enumerate(("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"), 1):
        first = a.enter(id, "m").seq
        with there.server.connect(there.database) as link:
            link.run(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}; START TRANSACTION")
            if level == "REPEATABLE READ":
                link.run("ROLLBACK; START TRANSACTION WITH CONSISTENT SNAPSHOT")
            assert rows(there.link, "break_place", "m", first, "by") == [(0,)]
            rows(there.link, "check_fence", "m", b.enter(id, "m").seq)
            assert attempt(link, "check_fence", "m", first) == 1644, level
        assert a.leave(id, "m") == (0, 1) and b.leave(id, "m") == (0, 0)
    there.drop()


def add_options(parser):
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))


main(add_options)
