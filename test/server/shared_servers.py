"""shared_servers - servers that tests share: one of each kind, started by test/run.

    shared = ZooKeeper()
    shared.reason(stores, tree)  why it cannot be used with a build tree that has these stores, or ""
    shared.start()               from the main thread: a server dies with the thread that
                                 started it
    shared.room("12")            a space for one test: values for the marks in its store URL
    shared.leftovers("12")       what the test left there, if anything; then it is removed
    shared.stop()
"""
import re
import shutil
import time

import mariadb
import mywire
import postgres
import pq
import redis
import zkwire
import zookeeper

YOUNG = 6  # seconds: longer than any session of a test on Redis
PATIENCE = 6  # seconds: the session of a killed process may take that long to end
FAULTS = (OSError, RuntimeError, pq.Error, mywire.Error)  # of clients


class Server:
    scheme = module = None

    def __init__(self):
        self.server = self.fault = None

    def reason(self, stores, tree):
        if self.scheme not in stores:
            return f"the store {self.scheme} is not built in {tree}"
        try:
            self.check_installed()
            return ""
        except self.module.Missing as why:
            return str(why)

    def start(self):
        if self.server is not None or self.fault is not None:
            return  # several stores may share it
        try:
            self.server = self.launch()
        except (*FAULTS, self.module.Failed, self.module.Missing) as error:
            self.fault = f"no server for {self.scheme}: {error}"

    def stop(self):
        if self.server is not None:
            self.server.stop()

    def leftovers(self, name):
        end = time.monotonic() + PATIENCE
        with self.client(name) as client:
            while (left := self.find_leftovers(client, name)) and time.monotonic() < end:
                time.sleep(0.05)
            self.clear(client, name)
        return left[:10]

    def client(self, name=None):
        """A client for a test's space, if that makes a difference."""
        if self.server is None:
            raise OSError(self.fault)
        return self.connect(name)


class ZooKeeper(Server):
    """With a tick of 200 ms: sessions last 0.4 to 4 s, whatever is asked for."""
    scheme, module = "zk", zookeeper

    @staticmethod
    def check_installed():
        zookeeper.class_path()

    @staticmethod
    def launch():
        return zookeeper.standalone(log_level="warn")

    def connect(self, _name):
        return zkwire.Client(self.server.address)

    def room(self, name):
        with self.client() as zk:
            zk.create(f"/{name}")
        return {"@ZK@": f"{self.server.address}/{name}"}

    @staticmethod
    def find_leftovers(zk, name):
        """Empty folders of locks may stay."""
        paths = [path.removeprefix(f"/{name}/") for path in zk.tree(f"/{name}")]
        return [f"left a node behind: {path}" for path in paths if "/" in path]

    @staticmethod
    def clear(zk, name):
        zk.delete_all(f"/{name}")


class Redis(Server):
    """Without files; plain and encrypted; sessions last 3 s.  See src/store/redis/scripts/base.lua
    for the keys."""
    scheme, module = "redis", redis
    HEAD = {"layout", "run", "epoch", "last", "ttl", "hold", "looked", "history"}

    @staticmethod
    def check_installed():
        if shutil.which("redis-server") is None:
            raise redis.Missing("no redis-server here")

    @staticmethod
    def launch():
        return redis.standalone(tls="none")

    def connect(self, _name):
        return self.server.client()

    def room(self, name):
        with self.client() as client:
            self.furnish(client, name)
        rest = f"/0?ttl=3s&prefix={name}"
        return {"@REDIS@": f"{self.server.address}{rest}",
                "@REDISS@": f"127.0.0.1:{self.server.tls_port}{rest}&ca={self.server.ca}"}

    def furnish(self, client, name):
        """Clients cannot know whether a server that was just started has lost data, so they would wait
        for as long as a session may last.  Here they need not."""
        server = client.info("server")
        if int(server["uptime_in_seconds"]) < YOUNG:
            now = "".join(part.zfill(6) for part in client.call("TIME"))
            client.call("HSET", f"{{{name}}}:state", "layout", 3, "run", f"{server['run_id']}:",
                        "epoch", now, "last", now, "ttl", 0)

    def find_leftovers(self, client, name):
        state, order = f"{{{name}}}:state", f"{{{name}}}:order"
        flat, members, time_now = client.calls(
            ["HGETALL", state], ["ZRANGE", order, 0, -1], ["TIME"])
        fields = dict(zip(flat[::2], flat[1::2]))
        now = int(time_now[0]) * 1000000 + int(time_now[1])
        found = [f"left a key behind: {key}" for key in self.claims(client, name)]
        dead = {field[2:] for field, value in fields.items()
                if field[:2] == "s\n" and int(value.split()[0]) <= now}
        excused = excuses(members, dead)
        found += [f"left a field behind: {field!r} {value!r}" for field, value in fields.items()
                  if field not in self.HEAD and not excused(field)]
        found += [f"left a member behind: {member!r}" for member in members
                  if not excused(member)]
        return found

    @staticmethod
    def claims(client, name):
        return list(client.call("KEYS", f"{{{name}}}:claim:*"))

    def clear(self, client, name):
        keys = [f"{{{name}}}:{key}" for key in ("state", "order", "changes", "past")]
        client.call("DEL", *keys, *self.claims(client, name))


def excuses(members, dead):
    """A session that has expired stays, with its places, until another client looks.  Returns a
    function: does this field of the hash, or member of the set, belong to such a session?"""
    lines, watched = set(), set()
    for member in members:
        name, _, rest = member[1:].partition("\n")
        if member[0] in "hq" and owner(rest) in dead:
            lines.add(name)
        elif member[0] == "w" and rest in dead:
            watched.add(name)

    def excused(text):
        letter, rest = text[0], text[1:]
        name, _, tail = rest.partition("\n")
        if name == "":  # a field
            return tail in {"l": lines, "w": watched}.get(letter, ()) or \
                letter in "snutak" and tail.partition(":")[0] in dead
        if letter in "hq":
            return owner(tail) in dead
        if letter == "f":
            return name in lines
        if letter == "w":
            return tail in dead
        if letter in "eu":
            return rest[16:] in dead
        return letter == "o" and rest.partition(":")[0] in dead

    return excused


def owner(place):
    """The session of "<seq> <weight> <session>:<id>"."""
    return re.sub(r"^\d+ \d+ |:\d+$", "", place)


class Tables(Server):
    """Sessions, places and lines are rows, which LOOK reads."""
    LOOK = None
    STILL = 1.2  # seconds: a living session renews once a second

    def __init__(self):
        super().__init__()
        self.seen = {}  # of a place and a session there: its renewal, and since when

    def look(self, link):
        return link.call(self.LOOK)

    def find_leftovers(self, link, name):
        """The session of a killed client stays, with its places, until another client expires it.  But
        there must be no place without a session, and the totals of lines must be right."""
        found, now = [], time.monotonic()
        for what, text, renewal in self.look(link):
            if what == "session":
                since = self.seen.get((name, text), (None,))
                if since[0] != renewal:
                    since = self.seen[name, text] = (renewal, now)
                if now - since[1] < self.STILL:
                    found.append(f"left a session that is renewed: {text}")
            else:
                found.append(f"left a {what} behind: {text}" if what == "place" else
                             f"left a line that counts wrong: {text}")
        return found


class Postgres(Tables):
    """A database for each test; sessions last 3 s.  Nothing is synced: it never crashes."""
    scheme, module = "postgres", postgres
    TEMPLATE = "hf_template"
    SETTINGS = {"fsync": "off", "full_page_writes": "off", "max_connections": "400"}
    LOOK = """
        SELECT 'session', sid, renewal FROM holdfast.session
        UNION ALL SELECT 'place', concat_ws(' ', name, sid, id, state), 0
        FROM holdfast.every_place WHERE sid NOT IN (SELECT sid FROM holdfast.session)
        UNION ALL SELECT 'count', concat_ws(' ', name, used, holders, waiting), 0
        FROM holdfast.line LEFT JOIN (
            SELECT name, coalesce(sum(weight) FILTER (WHERE state = 'g'), 0) AS weight,
                   count(*) FILTER (WHERE state = 'g') AS have,
                   count(*) FILTER (WHERE state = 'w') AS wait
            FROM holdfast.every_place GROUP BY name) AS places USING (name)
        WHERE (used, holders, waiting) IS DISTINCT FROM
              (coalesce(weight, 0), coalesce(have, 0), coalesce(wait, 0))"""

    @staticmethod
    def check_installed():
        postgres.check_installed()

    def launch(self):
        server = postgres.standalone(settings=self.SETTINGS)
        server.createdb(self.TEMPLATE, schema=True)
        server.sql(f"ALTER DATABASE {self.TEMPLATE} ALLOW_CONNECTIONS false", "postgres")
        return server

    def connect(self, name):
        return self.server.connect(f"t{name}" if name else "postgres")

    def room(self, name):
        with self.client() as link:
            link.run(f"CREATE DATABASE t{name} TEMPLATE {self.TEMPLATE} OWNER {postgres.USER} "
                     "STRATEGY FILE_COPY")  # quicker for a few MB
        return {"@POSTGRES@": f"{self.url(f't{name}').partition('//')[2]}?ttl=3s"}

    def url(self, database):
        return self.server.url_of(database)

    def clear(self, link, name):
        link.close()
        self.server.dropdb(f"t{name}")


class Pgbouncer(Postgres):
    """The same server, through a pooler in transaction mode."""

    def __init__(self, direct):
        super().__init__()
        self.direct = direct

    @staticmethod
    def check_installed():
        postgres.check_installed()
        postgres.program("pgbouncer")

    def launch(self):
        self.direct.start()
        if self.direct.server is None:
            raise OSError(self.direct.fault)
        self.pooler = self.direct.server.pgbouncer()
        return self.direct.server

    def url(self, database):
        return self.pooler.url_of(database)

    def stop(self):
        """It ends with the server."""


class MariaDB(Tables):
    """A database for each test; sessions last 3 s.  Nothing is synced: it never crashes."""
    scheme, module = "mariadb", mariadb
    SETTINGS = {"innodb-flush-log-at-trx-commit": "0", "max-connections": "1000"}
    NO_TABLE = 1146
    LOOK = """
        SELECT 'session', sid, renewal FROM hf_session
        UNION ALL SELECT 'place', CONCAT_WS(' ', name, sid, id, state), 0
        FROM hf_place WHERE sid NOT IN (SELECT sid FROM hf_session)
        UNION ALL SELECT 'count', CONCAT_WS(' ', name, used, holders, waiting), 0
        FROM hf_line LEFT JOIN (
            SELECT name, SUM(IF(state = 'g', weight, 0)) AS weight, SUM(state = 'g') AS have,
                   SUM(state = 'w') AS wait
            FROM hf_place GROUP BY name) AS places USING (name)
        WHERE used <> COALESCE(weight, 0) OR holders <> COALESCE(have, 0) OR
              waiting <> COALESCE(wait, 0)"""

    @staticmethod
    def check_installed():
        mariadb.check_installed()

    def launch(self):
        return mariadb.standalone(settings=self.SETTINGS)

    def connect(self, name):
        return self.server.connect(f"t{name}" if name else "")

    def room(self, name):
        url = self.server.createdb(f"t{name}")
        return {"@MARIADB@": f"{url.partition('//')[2]}?ttl=3s"}

    def look(self, link):
        try:
            return super().look(link)
        except mywire.Error as error:
            if error.code != self.NO_TABLE:  # the test did not open the store
                raise
            return []

    def clear(self, link, name):
        link.close()
        self.server.dropdb(f"t{name}")
