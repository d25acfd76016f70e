"""servers - the stores of `make chaos`, and what can happen to them; see store.py."""
import contextlib
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
import redis  # noqa: E402
import resp  # noqa: E402
import netns  # noqa: E402
import zkwire  # noqa: E402
import zookeeper  # noqa: E402
from server_process import Missing  # noqa: E402,F401
from sql_servers import MariaDb, Pair, Postgres  # noqa: E402
from store import Store  # noqa: E402

DOWN_AFTER = 1500  # ms until Sentinels take a master for dead; sooner, a busy machine misleads them


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


def left_in_redis(link, empty):
    """See src/store/redis/scripts/base.lua."""
    for words in ("MULTI",), ("HGETALL", "{holdfast}:state"), ("ZRANGE", "{holdfast}:order", 0, -1):
        link.call(*words)
    words, order = link.call("EXEC")
    fields = dict(zip(words[::2], words[1::2]))
    places, free = {}, {}  # {name: [(letter, weight, owner)]}, {name: [slot]}
    for member in order:
        if member[0] in "hq":
            name, place = member[1:].split("\n")
            places.setdefault(name, []).append((member[0], *place.split()[1:]))
        elif member[0] == "f":
            free.setdefault(member[1:].split("\n")[0], []).append(int(member.split("\n")[1]))
    rows = {key[2:]: text for key, text in fields.items() if key.startswith("t\n")}
    for name, found in places.items():
        for letter, _, owner in found:
            if f"s\n{owner[:16]}" not in fields:
                yield f'a place in "{name}" without its session {owner}'
            if rows.get(owner, " ")[0] != {"h": "g", "q": "w"}[letter]:
                yield f'a place of {letter} in "{name}", whose row is {rows.get(owner)!r}'
    for name, text in ((key[2:], text) for key, text in fields.items() if key.startswith("l\n")):
        kind, used, waiting, slots, epoch = text.split()
        held = [place for place in places.get(name, []) if place[0] == "h"]
        waits = len(places.get(name, [])) - len(held)
        if epoch == fields.get("epoch") and (int(used), int(waiting)) != (sum(int(p[1]) for p in held), waits):
            yield f'wrong totals of "{name}": {text}; its places are {places.get(name)}'
        taken = [int(rows[owner].split()[3]) for _, _, owner in held if owner in rows]
        if epoch == fields.get("epoch") and kind not in ("1", "1c", "4294967295") and (
                sorted([*taken, *free.get(name, [])]) != list(range(int(slots)))):
            yield f'wrong slots of "{name}": of {slots} {taken} are taken and {free.get(name, [])} free'
    owners = {place[2] for found in places.values() for place in found}
    for owner, text in rows.items():
        if text[0] != "b" and owner not in owners or f"s\n{owner[:16]}" not in fields:
            yield f"a row of {owner} that is in no line, or has no session: {text!r}"
    if empty and (places or free):
        yield f"places {places}, slots {free}"


class Redis(Store):
    scheme = "redis"
    keeps = False  # its data, for sure

    def __init__(self, dice, folder):
        super().__init__(dice, folder)
        aof = self.keeps or dice.random() < 0.5
        self.forgets = dict.fromkeys(("flushall", "server-emptied", *(() if aof else ("server-killed",))), 0.0)
        self.server = redis.standalone(aof=aof, env=self.clock_env())
        self.addresses = (self.server.address,)

    def url(self, addresses):
        return f"redis://{addresses[0]}?ttl={int(self.ttl * 1000)}ms"

    def faults(self):
        return {"server-killed": lambda: self.killed(self.server),
                "server-stopped": lambda: self.frozen(self.server),
                "server-emptied": self.empty,
                "flushall": lambda: self.tell("FLUSHALL"),
                "client-kill": lambda: self.tell("CLIENT", "KILL", "TYPE", "normal")}

    def empty(self):
        """It is killed, and starts without data."""
        self.server.kill()
        shutil.rmtree(self.server.folder / "appendonlydir", ignore_errors=True)
        return self.outage(), self.server.start

    def left(self, empty):
        with self.server.client() as link:
            yield from left_in_redis(link, empty)

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
        del kept["flushall"], kept["server-emptied"]
        return kept


class Sentinel(Store):
    """A master, a replica, three Sentinels, which tell clients where the master is."""
    scheme = "redis+sentinel"
    unordered = dict.fromkeys(("failover", "master-killed", "master-stopped"), 5.0)  # see docs/redis.md
    forgets = unordered | {"flushall": 0.0}

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

    def left(self, empty):
        with self.master().client() as link:
            yield from left_in_redis(link, empty)

    def flush(self):
        try:
            with self.master().client() as link:
                link.call("FLUSHALL")
        except (OSError, resp.Error):
            return False
        return None


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

    def left(self, empty):
        """A slot carries the uuid of its place."""
        with zkwire.Client(self.addresses[0]) as zk:
            nodes = [path for path in zk.tree("/") if not path.startswith("/zookeeper")]
            for path in nodes:
                folder, _, name = path.rpartition("/")
                if name.startswith("slot-"):
                    try:
                        uuid = zk.data(path)[0].decode(errors="replace").replace("-", "")
                    except zkwire.Error as error:
                        if not zkwire.no_node(error):
                            raise
                        continue  # it has just gone
                    if not any(uuid in node.replace("-", "") for node in nodes if node.startswith(folder + "/")):
                        yield f"{path} of {uuid}, whose place is gone"
                if empty and folder:
                    yield f"{path}, which nobody should have any more"

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

    def left(self, empty):
        return ()  # not from out here

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
