"""death_peers - other kinds of locks whose holder is killed, for death.py."""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from peer import ROOT, Peer, install_redlock
from stores import LEASE
from victim import LIMIT, Deaths, Place, numbers
import server_process
import redis
from etcd import Etcd

sys.path.append(str(ROOT / "test/interop"))
import curator  # noqa: E402


# ---- A holder and a waiter of each kind ------------------------------------------------------
#
# `lease` and `beat`: the lease and the interval of renewals, in seconds.
# death(kill): one round; kill(holder) kills the holder and returns the time.


class Etcdctl:
    """With default settings.  Its command survives when it is killed."""
    name, lease, beat = "etcdctl lock", 10, 10 / 3

    def __init__(self, stack, args):
        self.next = args.next
        self.server = server_process.started(Etcd())
        stack.callback(self.server.stop)

    def lock(self, key, *command, **more):
        return Peer(self.server.ctl("lock", key, "--", *command), **more)

    def waited_for(self, key):
        said = subprocess.run(self.server.ctl("get", "--prefix", "--keys-only", f"{key}/"),
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        return len(said.split()) == 2

    def death(self, kill):
        key = f"death-{next(numbers)}"
        with self.lock(key, "sh", "-c", "echo $$; exec sleep 1000") as holder:
            command = int(holder.hear()[0])
            with Deaths([command]) as deaths:
                try:
                    with self.lock(key, self.next, *deaths.fds, pass_fds=deaths.fds) as waiter:
                        server_process.until("one waits", lambda: self.waited_for(key), LIMIT)
                        killed = kill(holder)
                        _, started, alive = waiter.hear()
                finally:
                    os.kill(command, signal.SIGKILL)
        return {"ms": (int(started) - killed) / 1e6, "alive": int(alive)}


class Told:
    """A program that prints "held" when it has the lock."""

    def death(self, kill):
        key = f"death-{next(numbers)}"
        with self.lock(key) as holder:
            holder.hear()
            with self.lock(key) as waiter:
                self.until_waited_for(key)
                killed = kill(holder)
                waiter.hear()
                granted = time.monotonic_ns()
                waiter.process.kill()
        return {"ms": (granted - killed) / 1e6}


class Curator(Told):
    name, lease, beat = "Curator", LEASE, LEASE / 3

    def __init__(self, _stack, args):
        if args.zookeeper is None:
            raise server_process.Missing("ZooKeeper is none of the stores")
        self.args = args
        self.java = curator.command("test/interop/CuratorPeer.java", args.build, "-Xmx64m",
                                    f"-Dsession={LEASE * 1000:.0f}")

    def lock(self, key):
        store = self.args.zookeeper
        return Peer([*self.java, "hold", f"{store.host}:{store.port}", f"/{key}"])

    def until_waited_for(self, key):
        """Its lines are ours, too."""
        Place(self.args, self.args.zookeeper.url(), key).until_waited_for()


class Redlock(Told):
    """using() with the duration from its documentation, which it extends by itself.  A waiter retries
    without limit: by default it gives up after ten times."""
    name, lease, beat = "redlock", 5, 4.5

    def __init__(self, stack, _args):
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-npm."))
        if (why := install_redlock(folder)) is not None:
            raise server_process.Missing(why)
        self.env = os.environ | {"NODE_PATH": f"{folder}/node_modules"}
        self.server = stack.enter_context(redis.standalone())

    def lock(self, key):
        peer = Peer(["node", ROOT / "bench/peers/redlock.js", self.server.address, "hold", key],
                    env=self.env)
        peer.hear()  # "tries"
        return peer

    def until_waited_for(self, _key):
        """It has printed that it tries."""


# ---- All of them at once ---------------------------------------------------------------------


def deaths_of(stack, args):
    """[(peer, its rounds)], all at once, because they do little but wait.  The holders are killed at different
    times after their last heartbeat."""
    peers = []
    for kind in (Etcdctl, Curator, Redlock):
        try:
            peers.append(kind(stack, args))
        except server_process.Missing as why:
            print(f"# {kind.name} is left out: {why}", file=sys.stderr)
    if not peers:
        return []
    all_wait = threading.Barrier(len(peers) * args.peers, timeout=3 * LIMIT)

    def one(peer, number):
        def kill(holder):
            all_wait.wait()
            time.sleep(peer.beat * number / args.peers)
            now = time.monotonic_ns()
            os.kill(holder.process.pid, signal.SIGKILL)
            return now
        try:
            return peer.death(kill)
        except BaseException:
            all_wait.abort()
            raise

    with ThreadPoolExecutor(all_wait.parties) as pool:
        found = [(peer, [pool.submit(one, peer, number) for number in range(args.peers)])
                 for peer in peers]
        return [(peer, [each.result() for each in rounds]) for peer, rounds in found]
