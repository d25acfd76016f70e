#!/usr/bin/env python3
"""netns - ZooKeeper servers in network namespaces, to cut them off from each other.

    test/server/netns.py --at 3 -- COMMAND          with ZooKeeper's default ticks
    test/server/netns.py --size 3 --tick 200 --sync-limit 10 -- COMMAND

Every server has a namespace of its own, number 1 and up, and so has every place for
clients (--clients, one if not said), numbered after the servers.  Number N is 10.77.0.N;
all meet at a bridge, where packets are dropped between those that are cut.  COMMAND runs
in this machine's network, from which none of them is reached, or at the place --at.

The environment and HF_ZK_CTL are as in zookeeper.py, without TLS.  And:

    HF_NETNS    names of the namespaces, in order, with commas between; "ip netns exec
                NAME ..." runs something there

    cut 1 2,3            drop all packets between 1 and the two others
    cut 1 2,3 one-way    only those that 1 sends
    heal                 drop no packets any more

A program that runs where a server is shares its address, and is cut off with it.  The
status is COMMAND's; 77 with a line "# SKIP why" where namespaces are not permitted.  As
a module: servers() gives a Cluster with a `network`.
"""
import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import server_process  # noqa: E402
import zookeeper  # noqa: E402

NAMES = pathlib.Path("/run/netns")
PREFIX = "hfns"  # followed by the pid of its maker, a dash and a number
CLONE_NEWNET = 0x40000000
TABLE = """
table bridge hf {
    chain cuts {
        type filter hook forward priority 0; policy accept;
    }
}
"""
LIBC = ctypes.CDLL(None, use_errno=True)


def sh(*argv, text=None):
    done = subprocess.run(argv, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise zookeeper.Failed(f"{' '.join(argv)}: {done.stderr.strip()}")


def remove_stale():
    """Remove namespaces of killed processes."""
    for path in NAMES.glob(f"{PREFIX}*-*"):
        pid = path.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            subprocess.run(["ip", "netns", "del", path.name], capture_output=True, check=False)


class Network:
    """Places 1 to `size`, joined by a bridge that is in a namespace too."""

    def __init__(self, size):
        for tool in ("ip", "nft"):
            if shutil.which(tool) is None:
                raise zookeeper.Missing(f"no {tool} here")
        remove_stale()
        self.size, self.bridge = size, f"{PREFIX}{os.getpid()}-bridge"
        try:
            self._build()
        except BaseException as error:
            self.down()
            if isinstance(error, zookeeper.Failed):
                raise zookeeper.Missing(str(error)) from None
            raise

    def _build(self):
        sh("ip", "netns", "add", self.bridge)
        sh("ip", "-n", self.bridge, "link", "add", "bridge", "up", "type", "bridge")
        sh("ip", "netns", "exec", self.bridge, "nft", "-f", "-", text=TABLE)
        for number in range(1, self.size + 1):
            name, port = self.name(number), f"port{number}"
            sh("ip", "netns", "add", name)
            sh("ip", "link", "add", "eth", "netns", name, "type", "veth",
               "peer", "name", port, "netns", self.bridge)
            sh("ip", "-n", name, "addr", "add", f"{self.host(number)}/24", "dev", "eth")
            sh("ip", "-n", name, "link", "set", "lo", "up")
            sh("ip", "-n", name, "link", "set", "eth", "up")
            sh("ip", "-n", self.bridge, "link", "set", port, "master", "bridge", "up")

    def down(self):
        for name in [self.bridge, *map(self.name, range(1, self.size + 1))]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    @staticmethod
    def name(number):
        return f"{PREFIX}{os.getpid()}-{number}"

    @staticmethod
    def host(number):
        return f"10.77.0.{number}"

    def inside(self, number):
        """Words in front of a command that run it at a place."""
        if not 1 <= number <= self.size:
            raise IndexError(f"there is no place {number}")
        return ["ip", "netns", "exec", self.name(number)]

    @contextlib.contextmanager
    def entering(self, number):
        """Sockets that this thread makes meanwhile belong to that place for good."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(NAMES / self.name(number), os.O_RDONLY)
        try:
            self._enter(there)
            yield
        finally:
            self._enter(home)
            os.close(there)
            os.close(home)

    @staticmethod
    def _enter(fd):
        if LIBC.setns(fd, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")

    def cut(self, left, right, one_way=False):
        """Numbers or lists of numbers.  Cuts add up until heal()."""
        left, right = ([x] if isinstance(x, int) else x for x in (left, right))
        pairs = [(a, b) for a in left for b in right]
        if not one_way:
            pairs += [(b, a) for a, b in pairs]
        rules = [f"add rule bridge hf cuts ip saddr {self.host(a)} ip daddr {self.host(b)} drop"
                 for a, b in pairs]
        self._nft("\n".join(rules))

    def heal(self):
        self._nft("flush chain bridge hf cuts")

    def _nft(self, text):
        sh("ip", "netns", "exec", self.bridge, "nft", "-f", "-", text=f"{text}\n")


def options(**given):
    """ZooKeeper's defaults."""
    return zookeeper.Options(**{"tick": 2000, "init_limit": 10, "sync_limit": 5} | given)


@contextlib.contextmanager
def servers(size=3, clients=1, **given):
    network, chosen = Network(size + clients), options(**given)

    def make_server(_cluster, folder):
        number = int(folder.name)
        config, properties = zookeeper.settings(chosen)
        config |= {"clientPort": 2181} | chosen.config
        config |= zookeeper.members([(network.host(n), 2888, 3888) for n in range(1, size + 1)])
        server = zookeeper.Server(folder, f"{network.host(number)}:2181", config, properties,
                                  jvm=chosen.jvm, inside=network.inside(number),
                                  entering=lambda: network.entering(number))
        (folder / "data" / "myid").write_text(f"{number}\n")
        return server

    def cut(left, right, way="both-ways"):
        if way not in ("one-way", "both-ways"):
            raise ValueError(f"{way}: no such way")
        network.cut(*([int(n) for n in part.split(",")] for part in (left, right)),
                    one_way=way == "one-way")

    try:
        with zookeeper.Cluster(size, make_server) as cluster:
            cluster.network = network
            cluster.verbs |= {"cut": cut, "heal": network.heal}
            yield cluster
    finally:
        network.down()


def start(_kind, options_given, command):
    parser = zookeeper.options_parser("netns.py", options())
    parser.add_argument("--size", type=int, default=3)
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--at", type=int, help="the place where COMMAND runs")
    chosen = zookeeper.parsed(parser, options_given)
    at = chosen.pop("at")
    with servers(**chosen) as cluster:
        network = cluster.network
        command = (network.inside(at) if at is not None else []) + command
        names = ",".join(network.name(n) for n in range(1, network.size + 1))
        return zookeeper.run_beside(cluster, command, {"HF_NETNS": names})


if __name__ == "__main__":
    sys.exit(server_process.main(["netns", *sys.argv[1:]], ("netns",), "HF_ZK", __doc__, start))
