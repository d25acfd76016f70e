"""calls - the functions and procedures of the MariaDB store, called as its C code calls them.

    from calls import *

    @case
    def a_plain_fact():
        there = space()           # a database of its own
        a = there.session()
        a.enter(1, "name")        # an Answer
        a.fetch()                 # messages for that session

    main()
"""
import collections
import contextlib
import pathlib
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/server"), str(ROOT / "test/served")]
import mariadb  # noqa: E402
import mywire  # noqa: E402, F401
import tap  # noqa: E402
from tap import case, options  # noqa: E402, F401

SCHEMA = ROOT / "src/store/mariadb/schema.sql"
VERSION = int(re.search(r"schema_version = (\d+)", (SCHEMA.parent / "schema.c").read_text())[1])
TTL = 30_000  # milliseconds; nothing here waits for it
SECRET = "5ec2e7"  # of every place
TUNE = "SET autocommit = 1, tx_isolation = 'READ-COMMITTED'"  # as our connections do

Answer = collections.namedtuple("Answer", "code state seq slot since weight ahead asked",
                                defaults=(None,) * 7)


def text(value):
    return value.decode() if isinstance(value, bytes) else value


FUNCTIONS = set(re.findall(r"FUNCTION hf_(\w+)\(", SCHEMA.read_text()))


def statement(name):
    """As far as its arguments."""
    return f"{'SELECT' if name in FUNCTIONS else 'CALL'} hf_{name}"


def parse(found, name):
    """Rows of all results; binary strings as text.  Of a function: its words, and (0, item) for each."""
    found = [tuple(text(value) for value in row) for row in found]
    if name not in FUNCTIONS or len(found) != 1:
        return found
    words, *items = str(found[0][0]).split("\0")
    return [tuple(int(word) if re.fullmatch(r"-?\d+", word) else word for word in words.split(" ", 7)),
            *((0, item) for item in items)]


def rows(link, name, *args):
    places = ", ".join("?" * len(args))
    return parse(link.call(f"{statement(name)}({places})", *args), name)


class Space:
    """A database with tables and procedures, made by an administrator as `init --print` says."""
    count = 0

    def __init__(self, server, links=1):
        Space.count += 1
        self.server, self.database = server, f"space{Space.count}"
        server.createdb(self.database)
        self.prepare()
        self.links = [self.connect() for _ in range(links)]

    def prepare(self):
        subprocess.run(["mariadb", "--no-defaults", "-uroot", "-S", self.server.socket, self.database],
                       input=f"SET @hf_version = {VERSION};\n{SCHEMA.read_text()}", text=True, check=True)

    def connect(self):
        link = self.server.connect(self.database, mariadb.USER, mariadb.PASSWORD)
        link.run(TUNE)
        return link

    @property
    def link(self):
        return random.choice(self.links)

    def sql(self, words, *args):
        with self.server.connect(self.database) as link:
            return link.call(words, *args)

    def session(self, ttl=TTL):
        session = Session(self)
        assert session.hello(ttl=ttl)[0] == 0
        return session

    def drop(self):
        for link in self.links:
            link.close()
        self.server.dropdb(self.database)


class Session:
    """Its calls take any link of the space: the server only compares the number of the connection."""

    def __init__(self, space):
        self.space, self.connection, self.era = space, 0, ""
        self.sid = f"{random.getrandbits(64):016x}"

    def outside(self, procedure, *args, link=None):
        return rows(link or self.space.link, procedure, *args)

    def call(self, procedure, *args, connection=None, link=None):
        return self.outside(procedure, self.sid,
                            self.connection if connection is None else connection, *args, link=link)

    def hello(self, connection=None, fresh=None, ttl=TTL, former=0):
        """On a new connection: (code, version, thread, number, era)."""
        fresh = self.connection == 0 if fresh is None else fresh
        self.connection = connection or self.connection + 1
        ret = self.outside("hello", VERSION, self.sid, self.connection, ttl, fresh, "", former,
                           self.era)[0]
        self.era = ret[4]
        return ret

    def enter(self, id, name, weight=1, capacity=1, claim=False, only_free=False, limit=0, note="",
              link=None):
        return Answer(*self.call("enter", id, name, weight, capacity, claim, only_free, limit, note,
                                 SECRET, link=link)[0])

    def read(self, id, **more):
        return Answer(*self.call("read", id, **more)[0])

    def downgrade(self, id, weight, **more):
        return Answer(*self.call("downgrade", id, weight, **more)[0])

    def leave(self, id, name, **more):
        """(code, lost)"""
        return self.call("leave", id, name, **more)[0]

    def renew(self):
        """(code, number), and {ttl: lowest number} of sessions in our way."""
        first, *others = self.call("renew")
        return first[:2], {ttl: number for _, number, ttl, _ in others}

    def fetch(self, bed=False, **more):
        """Messages."""
        (code, _), *found = self.call("fetch", bed, **more)
        assert code == 0, code
        return [message for _, message in found]

    def expire_silent(self, *drawn):
        """How many; `drawn` are (number, age)."""
        pairs = ",".join(f"{number} {age}" for number, age in drawn)
        return self.outside("expire_silent", self.sid, self.era, pairs)[0][1]

    def bye(self):
        return self.call("bye")[0][0]


def space(links=1):
    return Space(tap.servers[-1], links)


def within(seconds, what):
    """Poll until it is true."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.01)


def main(add_options=None, **settings):
    tap.main(lambda: mariadb.standalone(**settings), mariadb.Missing, add_options)
