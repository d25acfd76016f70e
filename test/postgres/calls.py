"""calls - the functions of the PostgreSQL store, called as its C code calls them.

    from calls import *

    @case
    def a_plain_fact():
        there = space()           # a database of its own
        a = there.session()
        a.enter(1, "name")        # an Answer: code, and the other fields of holdfast.answer
        there.messages()          # messages sent since the last call: [(session, text)]

    main()
"""
import collections
import functools
import json
import pathlib
import random
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/server"), str(ROOT / "test/served")]
import postgres  # noqa: E402
import pq  # noqa: E402, F401
import tap  # noqa: E402
from tap import case, options  # noqa: E402, F401

TTL = 30_000  # milliseconds; nothing here waits for it
VERSION = postgres.version()  # of the schema
SECRET = "5ec2e7"  # of every place

Answer = collections.namedtuple(
    "Answer", "code state seq slot since weight ahead asked")

# All tables, by one snapshot.
EVERYTHING = "SELECT json_build_object(" + ", ".join(
    f"'{table}', (SELECT coalesce(json_agg(x), '[]') FROM holdfast.{table} x)"
    for table in ("session", "line", "place", "every_place", "bias", "watch", "store_watcher", "head",
                  "change_log")) + ")::text"

NAMES = ("hello", "reclaim", "renew", "messages", "expire", "expire_silent", "sweep", "bye", "enter", "leave",
         "read", "downgrade", "watch", "break_place", "ask", "verify", "list", "watch_store", "keep_history",
         "history")


def call(link, function, *args):
    """Rows."""
    places = ", ".join(f"${i + 1}" for i in range(len(args)))
    return link.call(f"SELECT * FROM holdfast.{function}({places})", *args)


def answer(text):
    """The text about a place."""
    fields = text.split(" ", 7)
    fields += [None] * (8 - len(fields))
    return Answer(*(field if field is None or i in (1, 7) else int(field) for i, field in enumerate(fields)))


def left(text):
    """The text that leave() returns: (code, lost)."""
    code, *lost = text.split(" ")
    return int(code), lost == ["1"]


class Space:
    """A database.  Its links belong to its owner; the listener hears the messages of every session."""
    count = 0

    def __init__(self, server, links=1, schema=True):
        Space.count += 1
        self.server, self.database = server, f"space{Space.count}"
        server.createdb(self.database, schema)
        self.links = [self.connect() for _ in range(links)]
        self.listener, self.marks = self.connect(), 0
        self.listener.run("LISTEN hf_mark")

    def connect(self, more=""):
        return self.server.connect(self.database, postgres.USER, more)

    @property
    def link(self):
        return random.choice(self.links)

    def session(self):
        session = Session(self)
        assert session.hello()[0] == 0
        return session

    def hear(self, session):
        self.listener.run(f'LISTEN "hf_{session.sid}"')

    def messages(self):
        """The messages since the last call, and none that comes later."""
        self.marks += 1
        self.listener.run(f"NOTIFY hf_mark, '{self.marks}'")
        heard = self.listener.messages()
        assert heard and heard[-1] == ("hf_mark", str(self.marks)), heard
        return [(channel.removeprefix("hf_"), text) for channel, text in heard[:-1]]

    def everything(self):
        return json.loads(self.link.call(EVERYTHING)[0][0])

    def counts(self):
        """The number of rows in each table that should be empty when all sessions have ended."""
        return {table: len(rows) for table, rows in self.everything().items() if table not in ("head", "change_log")}

    def change(self, sql, *args):
        self.link.call(sql, *args)

    def grow_old(self, number=2**62, link=None):
        """Make sessions old by the server's clock, if they were not renewed since that number."""
        (link or self.link).call(
            "UPDATE holdfast.session SET renewed = 0 WHERE sid IN (SELECT sid FROM holdfast.session "
            "WHERE renewal <= $1 FOR UPDATE SKIP LOCKED)", number)

    def drop(self):
        for link in (*self.links, self.listener):
            link.close()
        self.server.dropdb(self.database)


class Session:
    """Its calls take any link of the space: the server only compares the number of the connection."""

    def __init__(self, space, sid=None):
        self.space, self.connection = space, 0
        self.sid = sid or f"{random.getrandbits(64):016x}"
        space.hear(self)

    def call(self, function, *args, connection=None, link=None):
        return call(link or self.space.link, function, self.sid,
                    self.connection if connection is None else connection, *args)

    def hello(self, connection=None, fresh=None, ttl=TTL):
        """On a new connection: (code, version, pid, number, era)."""
        fresh = self.connection == 0 if fresh is None else fresh
        self.connection = connection or self.connection + 1
        return self.outside("hello", VERSION, self.sid, self.connection, ttl, fresh, "")[0]

    def enter(self, id, name, weight=1, capacity=1, claim=False, only_free=False, limit=0,
              note="", link=None):
        return answer(self.call("enter", id, name, weight, capacity, claim, only_free, limit,
                                note, SECRET, link=link)[0][0])

    def take(self, id, name, **more):
        """Claim it."""
        return self.enter(id, name, claim=True, only_free=True, **more)

    def read(self, id, name="m", **more):
        return answer(self.call("read", id, name, **more)[0][0])

    def downgrade(self, id, weight, name="m", **more):
        return answer(self.call("downgrade", id, name, weight, **more)[0][0])

    def leave(self, id, name, **more):
        """(code, lost)"""
        return left(self.call("leave", id, name, **more)[0][0])

    def watch(self, name, stamp=0, seq=0, **more):
        """(code, changed)"""
        return self.call("watch", name, stamp, seq, **more)[0]

    def reclaim(self, *ids):
        return self.call("reclaim", list(ids))[0][0]

    def renew(self):
        """The code, our number, and {ttl: number} of the sessions in our way."""
        rows = self.call("renew")
        others = {}
        for _, number, ttl, _ in rows[1:]:
            others.setdefault(ttl, []).append(number)
        return rows[0][0], rows[0][1], {ttl: min(numbers) for ttl, numbers in others.items()}

    def bye(self, **more):
        return self.call("bye", **more)[0][0]

    def outside(self, function, *args):
        """Call a function that needs no session."""
        return call(self.space.link, function, *args)

    def break_place(self, name, seq):
        return self.outside("break_place", name, seq)[0][0]

    def ask(self, name, seq, why):
        return self.outside("ask", name, seq, why)[0][0]

    def verify(self, name, token):
        return self.outside("verify", name, token)[0][0]

    def expire(self, sid, renewal):
        return self.outside("expire", sid, renewal)[0][0]

    def expire_silent(self, *drawn):
        """Each argument is (a number of this era, its age in milliseconds).  How many sessions expired."""
        era = self.space.link.call("SELECT holdfast.era()")[0][0]
        return self.outside("expire_silent", self.sid, era, [n for n, _ in drawn], [a for _, a in drawn])[0][0]

    def sweep(self, most=1000):
        return self.outside("sweep", most)[0][0]

    def messages(self):
        """{id: (state, how many messages)}"""
        return {row[0]: row[1:] for row in self.outside("messages", self.sid)}

    def watch_store(self, stamp=0, end=0, **more):
        """(stamp, unsettled), and which lines changed; None: any may have."""
        rows = self.call("watch_store", stamp, end, **more)
        assert rows[0][0] == 0, rows
        return rows[0][1:3], None if rows[0][3] else [row[4] for row in rows[1:]]

    def keep_history(self, length):
        self.outside("keep_history", length)

    def history(self, name=None, after=0):
        """[(number, what, name, seq, weight, capacity, claim, slot, note, why)], and the newest
        number; None: no history is kept."""
        first, *rows = self.outside("history", name, after)
        if first[0] == 6:
            return None
        return [(number, what, *rest) for _, number, _, what, *rest in rows], first[1]

    def list(self, name=None):
        """The stamp, and places."""
        rows = self.outside("list", name)
        assert rows[0][1] is None and all(row[1] is not None for row in rows[1:]), rows
        return rows[0][0], rows[1:]


class Actor:
    """A session on a connection of its own, which can keep a transaction open."""

    def __init__(self, space, session=None):
        self.space, self.link = space, space.connect()
        self.session = session or space.session()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()

    def begin(self):
        self.link.run("BEGIN")

    def commit(self):
        self.link.run("COMMIT")

    def rollback(self):
        self.link.run("ROLLBACK")

    def start(self, function, *args):
        """Begin a call on behalf of the session, without waiting for its answer."""
        self.start_outside(function, self.session.sid, self.session.connection, *args)

    def start_outside(self, function, *args):
        places = ", ".join(f"${i + 1}" for i in range(len(args)))
        self.link.send(f"SELECT * FROM holdfast.{function}({places})", *args)

    def start_enter(self, id, name, weight=1, capacity=1, claim=False, only_free=False):
        self.start("enter", id, name, weight, capacity, claim, only_free, 0, "", SECRET)

    def enter(self, *args, **more):
        return self.session.enter(*args, **more, link=self.link)

    def is_stuck(self, limit=5.0):
        """Wait until its call waits for another transaction; False: the call was answered instead."""
        end = time.monotonic() + limit
        while not self.link.done(0.005):
            rows = self.space.link.call(
                "SELECT wait_event_type FROM pg_stat_activity WHERE pid = $1", self.link.pid)
            if rows[0][0] == "Lock":
                return True
            assert time.monotonic() < end, "the call neither waits nor is answered"
        return False

    def row(self, limit=5.0):
        assert self.link.done(limit), "still no answer"
        return self.link.result()[0]

    def answer(self):
        return answer(self.row()[0])


# ---- For each test ----------------------------------------------------------------------


def server():
    return tap.servers[0]


def space(**more):
    return Space(server(), **more)


def sessions(there, count=2):
    return [there.session() for _ in range(count)]


def main(add_options=None, instead=None, start=postgres.standalone, **more):
    """`more`: for the server."""
    tap.main(functools.partial(start, **more), postgres.Missing, add_options, instead)
