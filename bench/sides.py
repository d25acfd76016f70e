"""sides - the programs that are compared, of bench/peers and bench/floors, and how to talk to them.

A side is one process, or one per session.  Those in C and Python share a file among their processes, see
scene.c: they check their counts there, and record how long each hand-over took.
"""
import array
import contextlib
import mmap
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import tempfile
import time

from peer import ROOT, Failed, Peer, install_redlock
from stores import MEMORY
import server_process
import curator
import etcd

HEADER = 32  # bytes of struct shared before `took`
SIZE = HEADER + 8 * 200000
LIMIT = 90.0  # seconds to wait for an answer, beyond the requested time
ALL = {"S1", "S1+", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9"}
MANY = {"S3", "S5", "S9"}  # scenarios of many sessions
CROWDS = {"S4", "S7", "S8"}  # of many waiters in one process
THREADS = 1000  # the most waiters if each is a thread and lists the whole queue
CONNECTIONS = 100  # and if each has a connection
DEBIAN = "/usr/bin/python3"  # has kazoo and redis-py


def cpu_seconds(pids):
    """Processor time of all threads of these processes, since they started."""
    total = 0.0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += time.clock_gettime(~pid << 3 | 2)  # see clock_getcpuclockid(3)
    return total


class Side:
    """`plays`: its scenarios; `argv`: the command line of one process; `processes`: the most sessions, if
    each is a process, else 0; `waiters`: the most waiters in S4, S7 and S8; `heavy`: each of them has a
    connection, which is closed afterwards."""

    def __init__(self, name, argv, plays, *, processes=0, shares=True, floor=False, env=None,
                 waiters=10000, heavy=False):
        self.name, self.argv, self.plays = name, [str(word) for word in argv], plays
        self.processes, self.shares, self.floor = processes, shares, floor
        self.waiters, self.heavy = waiters, heavy
        self.env = env or {}
        self.peers, self.map = [], None

    def can(self, scenario):
        most = self.waiters if scenario.kind in CROWDS else \
            self.processes if self.processes and scenario.kind in MANY else scenario.count
        return scenario.kind in self.plays and scenario.count <= most

    # ---- Its life

    def __enter__(self):
        if self.shares:
            handle, path = tempfile.mkstemp(prefix="holdfast-bench.", dir=MEMORY)
            os.ftruncate(handle, SIZE)
            self.map = mmap.mmap(handle, SIZE)
            os.close(handle)
            self.file = pathlib.Path(path)
        return self

    def dismiss(self):
        """Ends all its processes; the next scenario starts new ones."""
        for peer in self.peers:
            with contextlib.suppress(BrokenPipeError):
                peer.process.stdin.close()
        for peer in self.peers:
            peer.__exit__()
        self.peers = []

    def __exit__(self, *_):
        self.dismiss()
        if self.map is not None:
            self.file.unlink()

    def command(self, *more):
        return [*self.argv[:self.argv.index("FILE")], *more,
                *self.argv[self.argv.index("FILE") + 1:]] if "FILE" in self.argv else \
            [*self.argv, *more]

    def ensure(self, count):
        while len(self.peers) < count:
            argv = self.command(*([self.file] if self.shares else []))
            self.peers.append(Peer(argv, env=os.environ | self.env))
        return self.peers[:count]

    def pids(self):
        return [peer.process.pid for peer in self.peers]

    # ---- One scenario

    def play(self, scenario, size, at_marks=()):
        """{operations, seconds, fair, p50, p99}, the last two in microseconds; some may be
        missing.  `fair`: operations, if every session had as few turns as the one with the
        fewest.  `at_marks`: functions to call at the marks of S7 and S8."""
        if scenario.kind == "S6":
            return self.start_afresh(int(size))
        alone = not self.processes or scenario.kind not in MANY
        peers = self.ensure(1 if alone else scenario.count)
        text = scenario.text if alone else scenario.of_one()
        if self.map is not None:
            self.map[:HEADER] = bytes(HEADER)
        for peer in peers:
            peer.say(f"{text} {size:g}")
        for at_mark in at_marks:
            self.heard(peers[0], "mark")
            at_mark()
            peers[0].say("go")
        said = [self.heard(peer, text, size) for peer in peers]
        figures = {"operations": sum(int(words[1]) for words in said),
                   "seconds": max(float(words[2]) for words in said)}
        if scenario.kind == "S3" and not self.floor:
            figures["fair"] = scenario.count * min(int(words[3]) for words in said)
        if len(said[0]) > 4 and float(said[0][4]) > 0:
            figures |= {"p50": statistics.median(float(words[4]) for words in said),
                        "p99": max(float(words[5]) for words in said)}
        figures |= self.shared_figures(scenario, figures["operations"])
        if scenario.kind in ("S4", "S7"):  # seconds to wait
            figures = {key: figures[key] for key in ("operations", "seconds")}
        return figures

    def heard(self, peer, first, size=0):
        try:
            words = peer.hear(LIMIT + size)
        except Failed as failed:
            raise Failed(f"{self.name}, {first}: {failed}") from None
        if words[0] != first:
            raise Failed(f"{self.name} said {words} and not {first}")
        return words

    def shared_figures(self, scenario, operations):
        if self.map is None:
            return {}
        count, _, _, _, taken = struct.unpack_from("QdiiQ", self.map)
        if scenario.kind == "S3" and not self.floor and count != operations:
            raise Failed(f"{self.name}, {scenario.text}: {operations} turns, but {count} of them "
                         "were counted: two held the lock at a time")
        took = array.array("d", self.map[HEADER:HEADER + 8 * min(taken, 200000)])
        if len(took) < 2:
            return {}
        took = sorted(took)
        return {"p50": statistics.median(took), "p99": took[int((len(took) - 1) * 0.99)]}

    def start_afresh(self, times):
        """The time from the start of a process to its first lock."""
        took = []
        for _ in range(times):
            begin = time.monotonic()
            done = subprocess.run(self.command("first"), text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  env=os.environ | self.env, timeout=LIMIT, check=False)
            words = done.stdout.split()
            if done.returncode != 0 or len(words) < 2:
                raise Failed(f"{self.name}, S6: ended with {done.returncode}")
            at = float(words[1]) / (1e9 if words[0] == "started" else 1e6)
            took.append((at - begin) * 1e6)
        return {"operations": times, "seconds": sum(took) / 1e6,
                "p50": statistics.median(took), "p99": max(took)}


# ---- All sides ---------------------------------------------------------------------------------


def holdfast(store, port, args, processes):
    """Ours, and an older build with a database, prefix or path of its own: its layout may differ."""
    builds = [("Holdfast", args.build, None)]
    builds += [("older", args.older, f"older_{port or 'near'}")] if args.older else []
    for name, build, space in builds:
        yield Side(name, [build / "bench/peers/holdfast", store.url(space, port=port)], ALL, processes=processes)


def floor(args, program, address, name, kind, plays, **more):
    return Side(name, [args.build / f"bench/floors/{program}", address, "FILE", kind], plays,
                **{"floor": True} | more)


def of_sqlite(store, port, args):
    address = store.address(port)
    yield from holdfast(store, port, args, 64)
    yield floor(args, "sqlite_floor", address, "flock(2)", "flock", ALL - {"S1+"},
                processes=64, floor=False, waiters=THREADS)
    yield floor(args, "sqlite_floor", address, "two writes", "writes", {"S1", "S2"})
    yield Side("pipe", [args.build / "bench/floors/pipe"], {"S3"}, floor=True)


def of_zookeeper(store, port, args):
    address = store.address(port)
    java = curator.command("bench/peers/Curator.java", args.build, "-Xmx512m", "-Xss512k")
    yield from holdfast(store, port, args, 0)
    yield Side("Curator", [*java, address], ALL - {"S1+"}, shares=False, waiters=THREADS)
    yield Side("kazoo", [DEBIAN, "-B", ROOT / "bench/peers/turns.py", "kazoo", address],
               ALL - {"S1+"}, processes=16, waiters=THREADS)
    for name, kind in (("create, delete", "bare"), ("ping", "ping")):
        yield floor(args, "zookeeper_floor", address, name, kind, {"S1", "S2", "S9"})
    yield floor(args, "zookeeper_floor", address, "getChildren", "list", {"S8"})


def of_redis(store, port, args):
    address = store.address(port)
    yield from holdfast(store, port, args, 64)
    folder = args.build / "bench/node"
    folder.mkdir(parents=True, exist_ok=True)
    if (why := install_redlock(folder)) is not None:
        args.leave_out("redlock", why)
    else:
        yield Side("redlock", ["node", ROOT / "bench/peers/redlock.js", address],
                   ALL - {"S1+", "S5"}, shares=False, waiters=THREADS,
                   env={"NODE_PATH": str(folder / "node_modules")})
    yield Side("redis-py", [DEBIAN, "-B", ROOT / "bench/peers/turns.py", "redis-py", address],
               ALL - {"S1+", "S5"}, processes=16, waiters=CONNECTIONS, heavy=True)
    for name, kind in (("SET NX, delete", "bare"), ("ping", "ping")):
        yield floor(args, "redis_floor", address, name, kind, {"S1", "S2", "S9"}, processes=64)
    yield floor(args, "redis_floor", address, "RPUSH, BLPOP", "ring", {"S3"})


def of_postgres(store, port, args):
    address = store.address(port)
    yield from holdfast(store, port, args, 128)
    yield floor(args, "postgres_floor", address, "advisory", "advisory", ALL - {"S1+"},
                processes=128, floor=False, waiters=CONNECTIONS, heavy=True)
    for name, kind in (("two updates", "updates"), ("lazy update", "lazy"), ("SELECT 1", "select")):
        yield floor(args, "postgres_floor", address, name, kind, {"S1"})
    yield floor(args, "postgres_floor", address, "NOTIFY", "notify", {"S3"})


def of_mariadb(store, port, args):
    address = store.address(port)
    yield from holdfast(store, port, args, 128)
    yield floor(args, "mariadb_floor", address, "GET_LOCK", "getlock", ALL - {"S1+", "S5", "S7", "S8"},
                processes=128, floor=False, waiters=CONNECTIONS, heavy=True)
    yield floor(args, "mariadb_floor", address, "two updates", "updates", {"S1"})
    yield floor(args, "mariadb_floor", address, "SELECT 1", "select", {"S1"})


SIDES = {"sqlite": of_sqlite, "zookeeper": of_zookeeper, "redis": of_redis,
         "postgres": of_postgres, "mariadb": of_mariadb, "pgbouncer": lambda *given: holdfast(*given, 64)}


# How many of them run the scenarios of many sessions, to estimate the time before there are servers.
PLAYERS = {"sqlite": {"S1": 3, "S2": 3, "S3": 3},
           "zookeeper": {"S1": 5, "S2": 5, "S3": 3, "S4": 6, "S8": 4, "S9": 5},
           "redis": {"S1": 5, "S2": 5, "S3": 4, "S4": 5, "S5": 1, "S7": 3, "S8": 3, "S9": 5},
           "postgres": {"S1": 5, "S3": 3},
           "mariadb": {"S1": 4}}  # else 2; in rounds, more for long ones


# ---- Commands -----------------------------------------------------------------------------------


class Command(Side):
    """A command that runs another one under a lock."""

    def __init__(self, name, argv, env=None):
        super().__init__(name, argv, {"S6"}, shares=False, env=env)

    def command(self, *_):
        return self.argv


def commands(stack, stores, args, port_of):
    """`port_of(port)`: of the relay in front of a server."""
    program = str(args.build / "bench/death/next")
    folder = tempfile.mkdtemp(prefix="holdfast-flock.", dir=MEMORY)
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    for store in stores:
        yield Command(f"holdfast run, {store.name}",
                      [args.build / "holdfast", "run", "-q", "S6", "--", program],
                      {"HOLDFAST_URL": store.url(port=store.port and port_of(store.port)),
                       "HOME": folder})
    yield Command("flock(1)", ["flock", f"{folder}/lock", program])
    try:
        with args.cores.of("servers"):
            server = server_process.started(etcd.Etcd())
    except server_process.Missing as missing:
        args.leave_out("etcdctl lock", str(missing))
        return
    stack.callback(server.stop)
    yield Command("etcdctl lock", server.ctl("lock", "S6", program, port=port_of(server.port)))
