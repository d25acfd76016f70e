"""lines - the functions of the PostgreSQL store, called as its C code calls them.

    space = Space(server)     # a database of its own
    a = space.session()
    a.enter(1, "name")        # an Answer: code, and the other fields of holdfast.answer
    space.messages()          # what was told since: [(session, text)]
"""
import collections
import json
import pathlib
import random
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/server"), str(ROOT / "test/served")]
import postgres  # noqa: E402
import pq  # noqa: E402, F401

TTL = 30_000  # milliseconds; nothing here waits for it
VERSION = postgres.version()  # of the schema
SECRET = "5ec2e7"  # of every ticket

Answer = collections.namedtuple(
    "Answer", "code state seq slot since weight ahead asked")

# All there is, in one look.
EVERYTHING = "SELECT json_build_object(" + ", ".join(
    f"'{table}', (SELECT coalesce(json_agg(x), '[]') FROM holdfast.{table} x)"
    for table in ("session", "line", "ticket", "watch", "surveyor", "head", "trail")) + ")::text"

NAMES = ("hello", "mend", "renew", "news", "bury", "bury_silent", "sweep", "bye", "enter", "leave",
         "read", "amend", "watch", "break_place", "ask", "prove", "list", "survey", "keep_history",
         "history")


def call(link, function, *args):
    """Rows."""
    places = ", ".join(f"${i + 1}" for i in range(len(args)))
    return link.call(f"SELECT * FROM holdfast.{function}({places})", *args)


class Space:
    """Its links are of the owner of the database; everybody's messages are heard."""
    count = 0

    def __init__(self, server, links=1, schema=True):
        Space.count += 1
        self.server, self.database = server, f"space{Space.count}"
        server.createdb(self.database, schema)
        self.links = [self.connect() for _ in range(links)]
        self.news, self.marks = self.connect(), 0
        self.news.run("LISTEN hf_mark")

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
        self.news.run(f'LISTEN "hf_{session.sid}"')

    def messages(self):
        """All that was told since the last time, and nothing that comes later."""
        self.marks += 1
        self.news.run(f"NOTIFY hf_mark, '{self.marks}'")
        told = self.news.messages()
        assert told and told[-1] == ("hf_mark", str(self.marks)), told
        return [(channel.removeprefix("hf_"), text) for channel, text in told[:-1]]

    def everything(self):
        return json.loads(self.link.call(EVERYTHING)[0][0])

    def counts(self):
        """How many rows, of what should end with the sessions."""
        return {table: len(rows) for table, rows in self.everything().items() if table not in ("head", "trail")}

    def change(self, sql, *args):
        self.link.call(sql, *args)

    def grow_old(self, number=2**62, link=None):
        """By the server's clock all sessions are old that were not renewed since that number."""
        (link or self.link).call(
            "UPDATE holdfast.session SET renewed = 0 WHERE sid IN (SELECT sid FROM holdfast.session "
            "WHERE renewal <= $1 FOR UPDATE SKIP LOCKED)", number)

    def drop(self):
        for link in (*self.links, self.news):
            link.close()
        self.server.dropdb(self.database)


class Session:
    """Calls go by any of the links: what counts is the number of the connection."""

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
        return Answer(*self.call("enter", id, name, weight, capacity, claim, only_free, limit,
                                 note, SECRET, link=link)[0])

    def take(self, id, name, **more):
        """Claim it."""
        return self.enter(id, name, claim=True, only_free=True, **more)

    def read(self, id, **more):
        return Answer(*self.call("read", id, **more)[0])

    def amend(self, id, weight, **more):
        return Answer(*self.call("amend", id, weight, **more)[0])

    def leave(self, id, name, **more):
        """(code, lost)"""
        return self.call("leave", id, name, **more)[0]

    def watch(self, name, stamp=0, seq=0, **more):
        """(code, changed)"""
        return self.call("watch", name, stamp, seq, **more)[0]

    def mend(self, *ids):
        return self.call("mend", list(ids))[0][0]

    def renew(self):
        """The code, our number, and of those in our way {ttl: number}."""
        rows = self.call("renew")
        others = {}
        for _, number, ttl, _ in rows[1:]:
            others.setdefault(ttl, []).append(number)
        return rows[0][0], rows[0][1], {ttl: min(numbers) for ttl, numbers in others.items()}

    def bye(self, **more):
        return self.call("bye", **more)[0][0]

    def outside(self, function, *args):
        """What needs no session."""
        return call(self.space.link, function, *args)

    def break_place(self, name, seq):
        return self.outside("break_place", name, seq)[0][0]

    def ask(self, name, seq, why):
        return self.outside("ask", name, seq, why)[0][0]

    def prove(self, name, token):
        return self.outside("prove", name, token)[0][0]

    def bury(self, sid, renewal):
        return self.outside("bury", sid, renewal)[0][0]

    def bury_silent(self, *drawn):
        """By numbers of now and their ages in milliseconds: how many."""
        era = self.space.link.call("SELECT holdfast.era()")[0][0]
        return self.outside("bury_silent", self.sid, era, [n for n, _ in drawn], [a for _, a in drawn])[0][0]

    def sweep(self, most=1000):
        return self.outside("sweep", most)[0][0]

    def news(self):
        """{id: (state, news)}"""
        return {row[0]: row[1:] for row in self.outside("news", self.sid)}

    def survey(self, stamp=0, end=0, **more):
        """(stamp, unsettled), and which lines changed; None: it is not known."""
        rows = self.call("survey", stamp, end, **more)
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
    """A session on a connection of its own, whose transactions may take their time."""

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
        """It waits for a transaction of somebody else; False: it was answered instead."""
        end = time.monotonic() + limit
        while not self.link.done(0.005):
            rows = self.space.link.call(
                "SELECT wait_event_type FROM pg_stat_activity WHERE pid = $1", self.link.pid)
            if rows[0][0] == "Lock":
                return True
            assert time.monotonic() < end, "neither waits nor is answered"
        return False

    def row(self, limit=5.0):
        assert self.link.done(limit), "still no answer"
        return self.link.result()[0]

    def answer(self):
        return Answer(*self.row())
