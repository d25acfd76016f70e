"""stores - servers for the benchmarks: a class for each store, with its addresses.

`port` below is that of a relay in front of the server, "unix" for its socket, or None for its own port.
"""
import os
import pathlib
import shutil
import tempfile
import time

from peer import Postgres, disk, file_system
import mariadb
import postgres
import redis
import zookeeper

LEASE = 15.0  # seconds, the default of all stores with leases
REDIS_AGE = LEASE + 1  # a server grants nothing for this long after its start: it may have crashed
ZOOKEEPER_FLAGS = ["-Xmx1g", "-XX:TieredStopAtLevel=4"]  # the default
MEMORY = "/dev/shm"


class Store:
    """`data`: "memory" or "disk"; `system`: the kind of file system; `ready`: when it begins to grant
    locks."""
    name = host = port = system = None
    has_unix = False
    ready = 0.0

    def folder(self, stack, data):
        made = tempfile.mkdtemp(prefix="holdfast-data.", dir=disk() if data == "disk" else MEMORY)
        stack.callback(shutil.rmtree, made, ignore_errors=True)
        self.system = file_system(made)
        return pathlib.Path(made)

    def url(self, space=None, ttl=None, port=None):
        """The URL for Holdfast."""
        raise NotImplementedError

    def address(self, port=None):
        """The address for others."""
        return f"{self.host}:{port or self.port}"

    def pids(self):
        """Of the server."""
        return []

    def reaped(self):
        """Processor seconds of its processes that have ended."""
        return 0.0

    def counts(self):
        """The counters of the server itself."""
        return {}


class Sqlite(Store):
    name = "sqlite"

    def __init__(self, stack, data="disk", fsync=None):
        self.data, self.path = data, self.folder(stack, data)

    def url(self, space=None, ttl=None, port=None):
        return f"sqlite:{self.path}/{space or 'locks'}.db?history=0"  # the others keep none

    def address(self, port=None):
        return str(self.path)


class Zookeeper(Store):
    name = "zookeeper"

    def __init__(self, stack, data="memory", fsync=None):
        """On a disk it flushes each transaction before it answers (forceSync), as by default."""
        self.data = data
        config = {"dataDir": self.folder(stack, data), "maxSessionTimeout": 900000}
        config |= {"preAllocSize": 65536} if data == "disk" else {}
        self.cluster = stack.enter_context(zookeeper.standalone(
            tick=2000, log_level="error", jvm=ZOOKEEPER_FLAGS, config=config))
        self.host, self.port = self.cluster.address.split(":")

    def url(self, space=None, ttl=None, port=None):
        return (f"zk://{self.host}:{port or self.port}/{space or ''}" +
                (f"?session={ttl:g}s" if ttl else ""))

    def pids(self):
        return [self.cluster[1].pid]

    def counts(self):
        said = dict(line.split("\t", 1) for line in self.cluster[1].word("mntr", 10).splitlines()
                    if "\t" in line)
        return {"requests": int(said["zk_packets_received"]),
                "bytes_out": int(said["zk_response_bytes"])}


class Redis(Store):
    name, has_unix = "redis", True

    def __init__(self, stack, data="memory", fsync="always"):
        self.data = data
        options = [f"dir {self.folder(stack, data)}"]
        if data == "disk":
            options += ["appendonly yes", f"appendfsync {fsync}"]
        self.server = stack.enter_context(redis.standalone(options=options))
        self.host, self.port = self.server.address.split(":")
        self.ready = time.monotonic() + REDIS_AGE

    def url(self, space=None, ttl=None, port=None):
        words = [f"prefix={space}"] if space else []
        words += [f"ttl={ttl:g}s"] if ttl else []
        where = f"redis+unix:{self.server.path}" if port == "unix" else \
            f"redis://{self.host}:{port or self.port}/0"
        return where + ("?" if words else "") + "&".join(words)

    def address(self, port=None):
        return self.server.path if port == "unix" else super().address(port)

    def pids(self):
        return [self.server.pid]

    def counts(self):
        with self.server.client() as link:
            said = link.info("stats")
        return {"requests": int(said["total_reads_processed"]),
                "bytes_out": int(said["total_net_output_bytes"])}


class Database(Store):
    name, has_unix = "postgres", True
    server = None  # one for both

    def __init__(self, stack, data="disk", fsync=None):
        self.data = data
        if Database.server is None:
            Database.server = stack.enter_context(Postgres(data == "disk"))
            with self.server.connect(None, postgres.USER) as link:  # for floors
                link.run("CREATE TABLE bench (n bigint) WITH (fillfactor = 50); "
                         "INSERT INTO bench VALUES (0)")
        self.host, self.port = "127.0.0.1", self.server.port
        self.system = file_system(self.server.data)

    def url(self, space=None, ttl=None, port=None):
        name = f"{self.name}_{space}" if space else self.server.database
        if space:
            self.server.createdb(name)
        if port == "unix":
            return self.server.unix_url + (f"&ttl={ttl:g}s" if ttl else "")
        return self.server.url_of(name, port=port or self.port) + \
            (f"?ttl={ttl:g}s" if ttl else "")

    def address(self, port=None):
        return self.server.conninfo if port == "unix" else self.url(port=port)

    def pids(self):
        return [self.server.pid, *postgres.children(self.server.pid)]

    def reaped(self):
        """A process for each connection; cutime and cstime of proc(5)."""
        words = pathlib.Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[13]) + int(words[14])) / os.sysconf("SC_CLK_TCK")


class Pooled(Database):
    name, has_unix = "pgbouncer", False

    def __init__(self, stack, data="disk", fsync=None):
        super().__init__(stack, data)
        self.port = self.server.pgbouncer().port


class Maria(Store):
    """With default settings where those of the tests are others."""
    name = "mariadb"
    SHIPPED = {"innodb-buffer-pool-size": "128M", "innodb-log-file-size": "96M",
               "innodb-flush-method": "O_DIRECT", "max-connections": "2000"}

    def __init__(self, stack, data="disk", fsync=None):
        self.data, folder = data, self.folder(stack, data)
        mariadb.give_to_servant(folder)
        self.server = stack.enter_context(mariadb.standalone(settings=self.SHIPPED, data=folder / "data"))
        self.server.sql("CREATE TABLE bench (n BIGINT) ENGINE = InnoDB; INSERT INTO bench VALUES (0)")  # for floors
        self.host, self.port = self.server.address.split(":")

    def url(self, space=None, ttl=None, port=None):
        if space:
            self.server.createdb(space)
        return (f"mariadb://{mariadb.USER}:{mariadb.PASSWORD}@{self.host}:{port or self.port}/"
                f"{space or self.server.database}") + (f"?ttl={ttl:g}s" if ttl else "")

    def address(self, port=None):
        return self.url(port=port).partition("//")[2]

    def pids(self):
        return [self.server.pid]


STORES = {kind.name: kind for kind in (Sqlite, Zookeeper, Redis, Database, Pooled, Maria)}


def start_stores(stack, names, data=None, fsync="always"):
    """`data`: "memory" or "disk"; None: the default of each."""
    more = {"data": data} if data else {}
    return [kind(stack, fsync=fsync, **more) for name, kind in STORES.items() if name in names]
