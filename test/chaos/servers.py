"""servers - the stores of `make chaos`, and what can happen to them.

A store has a URL, addresses that a proxy can stand before (none: it has no server, or tells clients
where it is), and faults: {kind: function}.  A function does harm and returns (seconds, heal): how long
it lasts and what ends it; None if it is over at once; or False if nothing happened.  Functions are
called in the thread that started the servers, since these die with it.
"""
import contextlib
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
import mariadb  # noqa: E402
import postgres  # noqa: E402
import postgres_pair  # noqa: E402
import redis  # noqa: E402
import resp  # noqa: E402
import clients  # noqa: E402
import netns  # noqa: E402
import zookeeper  # noqa: E402
from server_process import Missing  # noqa: E402,F401



DOWN_AFTER = 1500  # ms until Sentinels take a master for dead; sooner, a busy machine misleads them


class Store:
    """Defaults."""
    scheme = "sqlite"  # of its URLs
    addresses, server = (), None
    ttl = 1.0  # seconds, the lease
    unordered = {}  # {kind of fault: seconds after it, in which the order is not promised}

    def __init__(self, dice, folder):
        self.dice, self.folder = dice, folder
        self.clock = clients.make_clock(folder, "server.clock")

    def place(self, _worker):
        """Addresses for a worker, and words in front of its command that run it where it belongs."""
        return self.addresses, []

    def faults(self):
        return {}

    def clock_env(self):
        return self.clock.env if self.clock else {}

    def step(self, direction):
        """Set the clock of the server."""
        if self.clock is None:
            return False
        clients.step(self.clock, self.dice, direction)
        return None

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
    keeps = False  # its data, for sure

    def __init__(self, dice, folder):
        super().__init__(dice, folder)
        self.server = redis.standalone(aof=self.keeps or dice.random() < 0.5, env=self.clock_env())
        self.addresses = (self.server.address,)

    def url(self, addresses):
        return f"redis://{addresses[0]}?ttl={int(self.ttl * 1000)}ms"

    def faults(self):
        return {"server-killed": lambda: self.killed(self.server),
                "server-stopped": lambda: self.frozen(self.server),
                "flushall": lambda: self.tell("FLUSHALL"),
                "client-kill": lambda: self.tell("CLIENT", "KILL", "TYPE", "normal")}

    def tell(self, *words):
        try:
            with self.server.client() as link:
                return None if link.call(*words) != 0 else False
        except (OSError, resp.Error):
            return False


class RedisAof(Redis):
    """Keeps its data, so its clock may be set back: see docs/redis.md."""

    keeps = True

    def faults(self):
        kept = super().faults() | {"server-clock-back": lambda: self.step(-1)}
        del kept["flushall"]
        return kept


class Sentinel(Store):
    """A master, a replica, three Sentinels, which tell clients where the master is."""
    scheme = "redis+sentinel"
    unordered = dict.fromkeys(("failover", "master-killed", "master-stopped"), 5.0)  # see docs/redis.md

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
        try:
            with self.server.sentinels[0].client() as link:
                link.call("SENTINEL", "FAILOVER", redis.SERVICE)
        except resp.Error:
            return False
        return None

    def flush(self):
        try:
            with self.master().client() as link:
                link.call("FLUSHALL")
        except (OSError, resp.Error):
            return False
        return None


class Postgres(Store):
    scheme = "postgres"

    def __init__(self, dice, folder):
        super().__init__(dice, folder)
        self.server = postgres.standalone(env=self.clock_env())
        self.addresses = (f"127.0.0.1:{self.server.port}",)

    def url(self, addresses):
        return (f"postgres://{postgres.USER}:{postgres.PASSWORD}@{','.join(addresses)}/"
                f"{self.server.database}?ttl={int(self.ttl * 1000)}ms")

    def faults(self):
        return {"server-killed": lambda: self.killed(self.server),
                "server-stopped": lambda: self.frozen(self.server),
                "server-restarted": lambda: self.server.restart("fast"),
                "server-clock-forward": lambda: self.step(1),
                "server-clock-back": lambda: self.step(-1),
                "terminate-backend": self.terminate}

    def terminate(self):
        try:
            return None if self.server.terminate_backends() else False
        except postgres.pq.Error:
            return False


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


class MariaDb(Store):
    scheme = "mariadb"

    def __init__(self, dice, folder):
        super().__init__(dice, folder)
        self.server = mariadb.standalone(env=self.clock_env())
        self.addresses = (f"127.0.0.1:{self.server.port}",)

    def url(self, addresses):
        return (f"mariadb://{mariadb.USER}:{mariadb.PASSWORD}@{addresses[0]}/"
                f"{self.server.database}?ttl={int(self.ttl * 1000)}ms")

    def faults(self):
        return {"server-killed": lambda: self.killed(self.server),
                "server-stopped": lambda: self.frozen(self.server),
                "server-restarted": lambda: self.server.restart("fast"),
                "server-clock-forward": lambda: self.step(1),
                "server-clock-back": lambda: self.step(-1),
                "kill-connection": lambda: self.kill_some("CONNECTION"),
                "kill-query": lambda: self.kill_some("QUERY")}

    def kill_some(self, what):
        """Some connections of the workers, whatever they do; KILL QUERY also wakes those that sleep."""
        try:
            found = self.server.sql("SELECT id FROM information_schema.processlist "
                                    f"WHERE user = '{mariadb.USER}'")
            some = [row[0] for row in found if self.dice.random() < 0.7]
            for thread in some:
                with contextlib.suppress(mariadb.mywire.Error):
                    self.server.sql(f"KILL {what} {int(thread)}")
            return None if some else False
        except (OSError, mariadb.mywire.Error):
            return False


class ZooKeeper(Store):
    scheme = "zk"
    size = 1
    ttl = 2.0  # the shortest

    def __init__(self, dice, folder):
        super().__init__(dice, folder)
        self.server = self.start()
        self.addresses = tuple(server.address for server in self.server.servers)

    def start(self):
        return zookeeper.ensemble(self.size, tick=200, log_level="error", env=self.clock_env())

    def url(self, addresses):
        return f"zk://{','.join(addresses)}?session={int(self.ttl * 1000)}ms"

    def some(self):
        return self.dice.choice(self.server.servers)

    def leader(self):
        return self.server[self.server.leader() or 1]

    def faults(self):
        return {"server-killed": lambda: self.killed(self.some()),
                "server-stopped": lambda: self.frozen(self.some()),
                "server-clock-forward": lambda: self.step(1),
                "server-clock-back": lambda: self.step(-1)}


class Ensemble(ZooKeeper):
    size = 3

    def faults(self):
        return super().faults() | {"leader-killed": lambda: self.killed(self.leader()),
                                   "leader-stopped": lambda: self.frozen(self.leader())}


class CutEnsemble(ZooKeeper):
    """Each server in a network namespace.  Each worker lives with one of them, and is cut off with it;
    every other worker knows no other server.  No proxy reaches them."""
    size = 3

    def __init__(self, dice, folder):
        super().__init__(dice, folder)
        self.known, self.addresses = self.addresses, ()

    def start(self):
        self.stack = contextlib.ExitStack()
        return self.stack.enter_context(netns.servers(self.size, clients=0, tick=200, init_limit=50,
                                                      sync_limit=10, log_level="error"))

    def stop(self):
        with self.stack:
            super().stop()

    def place(self, worker):
        number = int(worker[1:])
        home = number % self.size + 1
        known = self.known if number % 2 else (self.server[home].address,)
        return known, self.server.network.inside(home)

    def faults(self):
        return {"follower-cut": lambda: self.cut(self.follower()),
                "follower-cannot-send": lambda: self.cut(self.follower(), "send"),
                "follower-cannot-receive": lambda: self.cut(self.follower(), "receive"),
                "leader-cut": lambda: self.cut(self.server.leader())}

    def follower(self):
        leader = self.server.leader()
        return leader and self.dice.choice([n for n in range(1, self.size + 1) if n != leader])

    def cut(self, number, way=None):
        """A server, and the workers that live with it."""
        if number is None:
            return False
        parts = [number], [n for n in range(1, self.size + 1) if n != number]
        self.server.network.cut(*(reversed(parts) if way == "receive" else parts),
                                one_way=way is not None)
        return self.ttl * self.dice.choice([0.3, 0.8, 1.5, 2.5, 4]), self.server.network.heal


STORES = {"sqlite": Sqlite, "redis": Redis, "redis-aof": RedisAof, "sentinel": Sentinel, "postgres": Postgres,
          "postgres-pair": Pair, "mariadb": MariaDb, "zookeeper": ZooKeeper, "ensemble": Ensemble,
          "ensemble-cut": CutEnsemble}
BROKEN = {"split": Split}  # it shows violations
