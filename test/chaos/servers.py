"""servers - the stores of `make chaos`, and what can happen to them.

A store has a URL, addresses that a proxy can stand before (none: it has no server, or tells clients
where it is), and faults: {kind: function}.  A function does harm and returns (seconds, heal): how long
it lasts and what ends it; or None if it is over at once.  Functions are called in the thread that
started the servers, since these die with it.
"""
import contextlib
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
import postgres  # noqa: E402
import postgres_pair  # noqa: E402
import redis  # noqa: E402
import resp  # noqa: E402
import zookeeper  # noqa: E402
from server_process import Missing  # noqa: E402,F401



DOWN_AFTER = 1500  # ms until Sentinels take a master for dead; sooner, a busy machine misleads them


class Store:
    """Defaults."""
    scheme = "sqlite"  # of its URLs
    addresses, server = (), None
    ttl = 1.0  # seconds, the lease

    def __init__(self, dice, folder):
        self.dice, self.folder = dice, folder

    def faults(self):
        return {}

    def stop(self):
        if self.server is not None:
            for number, server in enumerate(self.processes(), 1):
                shutil.copy(server.folder / "log", self.folder / f"server{number}.log")
            self.server.stop()

    def processes(self):
        """All servers, of the module server_process."""
        return getattr(self.server, "servers", [self.server])

    # ---- Parts of faults

    def outage(self):
        """Seconds: mostly short, sometimes longer than the lease."""
        return self.dice.choice([0.0, 0.1, 0.3, 0.7, 1.5 * self.ttl, 2.5 * self.ttl])

    def killed(self, server):
        server.kill()
        return self.outage(), server.start

    def frozen(self, server):
        server.freeze()
        return self.outage(), server.thaw


class Sqlite(Store):
    """In a file system of its own, where that is permitted: so that it can be full."""

    def __init__(self, dice, folder):
        super().__init__(dice, folder)
        self.home = folder / "store"
        self.home.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(self.home)],
                              stderr=subprocess.DEVNULL, check=False)
        self.mounted = done.returncode == 0

    def url(self, _addresses):
        return f"sqlite:{self.home}/locks.db"

    def faults(self):
        return {"disk-full": self.fill} if self.mounted else {}

    def fill(self):
        filler = self.home / "filler"
        with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        return self.outage(), filler.unlink

    def stop(self):
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.home)], check=True)


class Split(Store):
    """Two files instead of one, so that two can hold a lock: the checker has to notice."""

    count = 0

    def url(self, _addresses):
        self.count += 1
        return f"sqlite:{self.folder}/{self.count % 2}.db"


class Redis(Store):
    scheme = "redis"

    def __init__(self, dice, folder):
        super().__init__(dice, folder)
        self.server = redis.standalone(aof=dice.random() < 0.5)
        self.addresses = (self.server.address,)

    def url(self, addresses):
        return f"redis://{addresses[0]}?ttl={int(self.ttl * 1000)}ms"

    def faults(self):
        return {"server-killed": lambda: self.killed(self.server),
                "server-stopped": lambda: self.frozen(self.server),
                "flushall": lambda: self.tell("FLUSHALL"),
                "client-kill": lambda: self.tell("CLIENT", "KILL", "TYPE", "normal")}

    def tell(self, *words):
        with contextlib.suppress(OSError, resp.Error), self.server.client() as link:
            link.call(*words)


class Sentinel(Store):
    """A master, a replica, three Sentinels, which tell clients where the master is."""
    scheme = "redis+sentinel"

    def __init__(self, dice, folder):
        super().__init__(dice, folder)
        self.server = redis.pair(sentinels=3, quorum=2, down_after=DOWN_AFTER)

    def outage(self):
        """Too short for a failover, or long enough."""
        return self.dice.choice([0.0, 0.1, 0.5, DOWN_AFTER / 1000 + 1.5])

    def url(self, _addresses):
        return (f"redis+sentinel://{self.server.sentinel_address}/{redis.SERVICE}"
                f"?ttl={int(self.ttl * 1000)}ms")

    def master(self):
        ports = self.server.named()
        found = [server for server in self.server.servers[:2] if {str(server.port)} == ports]
        return found[0] if found else self.server.servers[0]

    def faults(self):
        return {"sentinel-killed": lambda: self.killed(self.dice.choice(self.server.sentinels)),
                "flushall": self.flush,
                "master-killed": lambda: self.killed(self.master()),
                "master-stopped": lambda: self.frozen(self.master()),
                "failover": self.failover}

    def failover(self):
        """Sentinels refuse a second one for a while."""
        with contextlib.suppress(resp.Error), self.server.sentinels[0].client() as link:
            link.call("SENTINEL", "FAILOVER", redis.SERVICE)

    def flush(self):
        with contextlib.suppress(OSError, resp.Error), self.master().client() as link:
            link.call("FLUSHALL")


class Postgres(Store):
    scheme = "postgres"

    def __init__(self, dice, folder):
        super().__init__(dice, folder)
        self.server = postgres.standalone()
        self.addresses = (f"127.0.0.1:{self.server.port}",)

    def url(self, addresses):
        return (f"postgres://{postgres.USER}:{postgres.PASSWORD}@{','.join(addresses)}/"
                f"{self.server.database}?ttl={int(self.ttl * 1000)}ms")

    def faults(self):
        return {"server-killed": lambda: self.killed(self.server),
                "server-stopped": lambda: self.frozen(self.server),
                "server-restarted": lambda: self.server.restart("fast"),
                "terminate-backend": self.terminate}

    def terminate(self):
        with contextlib.suppress(postgres.pq.Error):
            self.server.terminate_backends()


class Pair(Postgres):
    """With a synchronous standby."""

    def __init__(self, dice, folder):
        Store.__init__(self, dice, folder)
        self.server = postgres_pair.pair()
        self.addresses = tuple(f"127.0.0.1:{port}" for port in self.server.ports)

    def faults(self):
        return {"server-killed": lambda: self.killed(self.server.primary),
                "server-stopped": lambda: self.frozen(self.server.primary),
                "terminate-backend": self.terminate,
                "standby-away": self.away,
                "promoted": lambda: self.promote("go on"),
                "promoted-after-kill": lambda: self.promote("kill")}

    def processes(self):
        return [server for server in (self.server.primary, self.server.standby, self.server.old) if server]

    def away(self):
        self.server.away()
        return self.outage(), self.server.back

    def promote(self, what):
        self.server.promote(what)
        return self.outage(), self.server.pair


class ZooKeeper(Store):
    scheme = "zk"
    size = 1
    ttl = 2.0  # the shortest

    def __init__(self, dice, folder):
        super().__init__(dice, folder)
        self.server = zookeeper.ensemble(self.size, tick=200, log_level="error")
        self.addresses = tuple(server.address for server in self.server.servers)

    def url(self, addresses):
        return f"zk://{','.join(addresses)}?session={int(self.ttl * 1000)}ms"

    def some(self):
        return self.dice.choice(self.server.servers)

    def leader(self):
        return self.server[self.server.leader() or 1]

    def faults(self):
        return {"server-killed": lambda: self.killed(self.some()),
                "server-stopped": lambda: self.frozen(self.some())}


class Ensemble(ZooKeeper):
    size = 3

    def faults(self):
        return super().faults() | {"leader-killed": lambda: self.killed(self.leader()),
                                   "leader-stopped": lambda: self.frozen(self.leader())}


STORES = {"sqlite": Sqlite, "redis": Redis, "sentinel": Sentinel, "postgres": Postgres,
          "postgres-pair": Pair, "zookeeper": ZooKeeper, "ensemble": Ensemble}
BROKEN = {"split": Split}  # it shows violations
