"""stores - servers for the programs here: each store as a class with its URLs."""
import pathlib
import shutil
import tempfile
import time

from peer import DISK, Postgres
import redis
import zookeeper

LEASE = 15.0  # seconds, of all stores that have one, unless they are told
REDIS_AGE = LEASE + 1  # a server younger than the lease grants nothing: it may have crashed
ZOOKEEPER_FLAGS = ["-Xmx1g", "-XX:TieredStopAtLevel=4"]  # as shipped


class Store:
    """`cycles`, `own`, `turns`: how many in one go, so that it takes a second or less;
    `ready`: from when on it grants."""
    host = port = None
    ready = 0.0

    def __init__(self, name, cycles, own, turns):
        self.name, self.cycles, self.own, self.turns = name, cycles, own, turns

    def url(self, space=None, ttl=None, port=None):
        raise NotImplementedError


class Sqlite(Store):
    def __init__(self, stack):
        super().__init__("sqlite", 1000, 250, 100)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-db.", dir=DISK))
        stack.callback(shutil.rmtree, self.folder, ignore_errors=True)

    def url(self, space=None, ttl=None, port=None):
        return f"sqlite:{self.folder}/{space or 'locks'}.db"


class Zookeeper(Store):
    def __init__(self, stack):
        super().__init__("zookeeper", 300, 100, 50)
        cluster = stack.enter_context(
            zookeeper.standalone(tick=2000, log_level="error", jvm=ZOOKEEPER_FLAGS))
        self.host, self.port = cluster.address.split(":")

    def url(self, space=None, ttl=None, port=None):
        return (f"zk://{self.host}:{port or self.port}/{space or ''}" +
                (f"?session={ttl:g}s" if ttl else ""))


class Redis(Store):
    def __init__(self, stack, name="redis", options=()):
        on_disk = bool(options)
        super().__init__(name, 300 if on_disk else 1000, 60 if on_disk else 250,
                         50 if on_disk else 100)
        server = stack.enter_context(redis.standalone(options=list(options)))
        self.host, self.port = server.address.split(":")
        self.ready = time.monotonic() + REDIS_AGE

    def url(self, space=None, ttl=None, port=None):
        words = [f"prefix={space}"] if space else []
        words += [f"ttl={ttl:g}s"] if ttl else []
        return f"redis://{self.host}:{port or self.port}/0" + ("?" if words else "") + \
            "&".join(words)


class RedisAof(Redis):
    def __init__(self, stack):
        folder = tempfile.mkdtemp(prefix="holdfast-aof.", dir=DISK)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        super().__init__(stack, "redis-aof", [f"dir {folder}", "appendonly yes",
                                              "appendfsync always"])


class Database(Store):
    server = None  # one for both

    def __init__(self, stack, name="postgres", turns=50):
        super().__init__(name, 200, 50, turns)
        if Database.server is None:
            Database.server = stack.enter_context(Postgres())
        self.host, self.port = "127.0.0.1", self.server.port

    def url(self, space=None, ttl=None, port=None):
        name = f"{self.name}_{space}" if space else self.server.database
        if space:
            self.server.createdb(name)
        return self.server.url_of(name, port=port or self.port) + \
            (f"?ttl={ttl:g}s" if ttl else "")


class Pooled(Database):
    def __init__(self, stack):
        super().__init__(stack, "pgbouncer", turns=6)
        self.port = self.server.pgbouncer().port


STORES = {"sqlite": Sqlite, "zookeeper": Zookeeper, "redis": Redis, "redis-aof": RedisAof,
          "postgres": Database, "pgbouncer": Pooled}


def start_stores(stack, names):
    return [kind(stack) for name, kind in STORES.items() if name in names]
