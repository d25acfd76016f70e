#!/usr/bin/env python3
"""zookeeper - real ZooKeeper servers for tests, alone or as an ensemble.

As a command, it runs servers while another command runs:

    test/server/zookeeper.py standalone --tick 200 -- COMMAND @ZK@
    test/server/zookeeper.py ensemble --size 3 -- COMMAND
    test/server/zookeeper.py ctl kill 2         from inside COMMAND, see below

COMMAND has these in its environment; @ZK@ in its arguments stands for the first:

    HF_ZK       host:port of every server, with commas between
    HF_ZK_PID   process of the first;  HF_ZK_PIDS  of all, with commas between
    HF_ZK_DIR   folder with a log of each: 1/log, 2/log, ...
    HF_ZK_CTL   path of a Unix socket: write one line, read the answer to its end:
                "ok", with what was asked for, or "error" and why
    HF_ZKS      with --tls: the secure ports; HF_ZK_CA, HF_ZK_CERT, HF_ZK_KEY and
                HF_ZK_OTHER_CA, HF_ZK_OTHER_CERT, HF_ZK_OTHER_KEY: files, see certs.py

Requests for HF_ZK_CTL, N being 1 for the first server:

    kill N    SIGKILL       stop N   SIGTERM       both return when it is gone
    freeze N  SIGSTOP       thaw N   SIGCONT
    start N   again, with its data                 returns before it serves
    wait      until every server that runs serves and, of several, one leads
    leader    the number of the leader             mode N   leader, follower, ...
    pid N     its process                          word N srvr   a four-letter word

The status is COMMAND's; 77 with a line "# SKIP why" if there is no Java or no
ZooKeeper here.  As a module: standalone() and ensemble() give a Cluster.

Servers listen on free ports of 127.0.0.1, keep their data in memory, and die with the
thread that started them, however it ends; so does COMMAND.

HF_ZK_CLASSES may name a file that archive_classes() made: with it a server takes two thirds
of the processor's time to start.
"""
import argparse
import base64
import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import server_process  # noqa: E402
import certs  # noqa: E402
import sandbox  # noqa: E402
import zkwire  # noqa: E402
from server_process import Failed, Missing  # noqa: E402

JARS = pathlib.Path("/usr/share/java")  # where Debian puts them
NEEDED = ("zookeeper", "slf4j-simple", "netty-codec", "netty-resolver",
          "netty-transport-native-unix-common")
START_LIMIT = 30.0  # seconds, for a busy machine
NETTY = "org.apache.zookeeper.server.NettyServerCnxnFactory"


def class_path():
    """zookeeper.jar names most jars that it needs, but no logger, and not all of netty."""
    if shutil.which("java") is None:
        raise Missing("no java here")
    paths = [JARS / f"{name}.jar" for name in NEEDED]
    for path in paths:
        if not path.exists():
            raise Missing(f"no {path} here")
    return ":".join(str(path) for path in paths)


# ---- One server ----------------------------------------------------------------------


class Server(server_process.Process):
    """`config`: lines of zoo.cfg as a dictionary; `properties`: of the JVM; `inside`: words
    in front of the command, and `entering`, a function that gives a context for making sockets,
    both for a server in a network namespace; `env`: more for its environment."""

    def __init__(self, folder, address, config, properties, *, jvm=(), inside=(),
                 entering=contextlib.nullcontext, env=None):
        self.folder, self.address, self.secure = folder, address, None
        self.inside, self.entering, self.env = list(inside), entering, env or {}
        self.process = None
        flags = ["-Xmx128m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                 "-XX:-UsePerfData", *jvm]
        flags += [f"-D{key}={value}" for key, value in properties.items()]
        if os.path.exists(classes := os.environ.get("HF_ZK_CLASSES", "")):
            flags.append(f"-XX:SharedArchiveFile={classes}")  # ignored if it does not fit
        (folder / "data").mkdir(parents=True)
        (folder / "tmp").mkdir()
        text = "".join(f"{key}={value}\n" for key, value in config.items())
        (folder / "zoo.cfg").write_text(f"dataDir={folder / 'data'}\n" + text)
        self.argv = ["java", *flags, f"-Djava.io.tmpdir={folder / 'tmp'}", "-cp", class_path(),
                     "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(folder / "zoo.cfg")]

    def start(self):
        self.launch(self.inside + sandbox.dying_with_us(self.argv), env=os.environ | self.env)

    def word(self, text, timeout=2.0):
        with self.entering():
            return zkwire.word(self.address, text, timeout)

    def mode(self):
        """standalone, leader, follower, read-only; or None if it does not serve."""
        try:
            found = re.search(r"^Mode: (\S+)", self.word("srvr"), re.MULTILINE)
        except OSError:
            return None
        return found and found.group(1)

    def complaints(self, count=12):
        """The last errors and warnings in its log."""
        lines = (self.folder / "log").read_text(errors="replace").splitlines()
        bad = [text for text in lines if re.search(r" (WARN|ERROR) |Exception|^Error", text)]
        return (bad or lines)[-count:]


# ---- One or several --------------------------------------------------------------------


class Cluster:
    """Servers that belong together; number 1 is servers[0].

    Use it in a `with`, or call stop().  `make_server(folder, number)` is the one thing that
    differs for servers that are not on 127.0.0.1."""

    def __init__(self, size, make_server):
        self.folder, self._lock = sandbox.make_folder()
        self.tls = None
        self.size = size
        self.verbs = {}  # more requests for HF_ZK_CTL: functions of the words that follow
        try:
            self.servers = [make_server(self, self.folder / str(n)) for n in range(1, size + 1)]
            for server in self.servers:
                server.start()
            self.wait()
        except BaseException:
            self.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def __getitem__(self, number):
        if not 1 <= number <= self.size:
            raise IndexError(f"there is no server {number}")
        return self.servers[number - 1]

    @property
    def address(self):
        return ",".join(server.address for server in self.servers)

    @property
    def secure_address(self):
        return ",".join(server.secure for server in self.servers)

    def leader(self):
        """Number of the leader, or None."""
        for number, server in enumerate(self.servers, 1):
            if server.running() and server.mode() in ("leader", "standalone"):
                return number
        return None

    def wait(self, limit=START_LIMIT):
        """Wait until all running servers serve, and one leads; or all are in read-only mode.  A leader
        that was stopped believes for a moment that it still leads."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            for number, server in enumerate(self.servers, 1):
                if server.process is not None and (server.process.poll() or 0) > 0:
                    raise Failed(f"server {number} ended:\n" + "\n".join(server.complaints()))
            modes = [server.mode() for server in self.servers if server.running()]
            leaders = modes.count("leader") + modes.count("standalone")
            if modes and all(modes) and (leaders == 1 or set(modes) == {"read-only"}):
                return
            time.sleep(0.02)
        raise Failed(f"not all servers serve after {limit:.0f} s\n"
                     + "\n".join(self.servers[0].complaints()))

    def stop(self):
        """Kill them: their data are removed, too."""
        for server in getattr(self, "servers", []):
            server.kill()
        if self._lock is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def local_server(cluster, folder, ports, options):
    """One of a cluster on 127.0.0.1; `ports` are those of all of them."""
    number = int(folder.name)
    own = [keeper.getsockname()[1] for keeper in ports[number - 1]]
    config, properties = settings(options)
    config |= {"clientPort": own[0], "clientPortAddress": "127.0.0.1"}
    if len(ports) > 1:
        config |= members([("127.0.0.1", keepers[1].getsockname()[1], keepers[2].getsockname()[1])
                           for keepers in ports])
    if options.tls is not None:
        if cluster.tls is None:
            cluster.tls = certs.make(cluster.folder / "certs", options.tls_names)
        config |= {"secureClientPort": own[3], "secureClientPortAddress": "127.0.0.1"}
        properties |= tls_properties(cluster.tls, options.tls)
    server = Server(folder, f"127.0.0.1:{own[0]}", config | options.config, properties,
                    jvm=options.jvm, env=options.env)
    server.secure = f"127.0.0.1:{own[3]}"
    if len(ports) > 1:
        (folder / "data" / "myid").write_text(f"{number}\n")
    return server


def members(addresses):
    """Lines of zoo.cfg: (host, port for followers, port for elections) of each server."""
    return {f"server.{number}": f"{host}:{quorum}:{election}"
            for number, (host, quorum, election) in enumerate(addresses, 1)}


def settings(options):
    config = {
        "tickTime": options.tick,
        "initLimit": options.init_limit,
        "syncLimit": options.sync_limit,
        "maxClientCnxns": 0,
        "preAllocSize": 1024,  # KB of a log, instead of 64 MB
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "*",
    }
    properties = {
        "zookeeper.extendedTypesEnabled": "true",
        "zookeeper.jmx.log4j.disable": "true",
        "znode.container.checkIntervalMs": options.container_check,
        "org.slf4j.simpleLogger.defaultLogLevel": options.log_level,
        "org.slf4j.simpleLogger.showDateTime": "true",
        "org.slf4j.simpleLogger.dateTimeFormat": "HH:mm:ss.SSS",
        "org.slf4j.simpleLogger.showShortLogName": "true",
    }
    if options.read_only:
        properties["readonlymode.enabled"] = "true"
    if options.super_user is not None:
        digest = base64.b64encode(hashlib.sha1(options.super_user.encode()).digest()).decode()
        name = options.super_user.partition(":")[0]
        properties["zookeeper.DigestAuthenticationProvider.superDigest"] = f"{name}:{digest}"
    return config, properties


def tls_properties(files, client):
    """Encrypted client ports need the other of the server's two network layers."""
    return {
        "zookeeper.serverCnxnFactory": NETTY,
        "zookeeper.ssl.keyStore.location": files["server"],
        "zookeeper.ssl.keyStore.type": "PEM",
        "zookeeper.ssl.trustStore.location": files["ca"],
        "zookeeper.ssl.trustStore.type": "PEM",
        "zookeeper.ssl.clientAuth": client,
    }


class Options:
    """Options; those of the command line have the same names."""

    def __init__(self, **given):
        self.tick = 200  # ms; sessions are of 2 to 20 ticks unless `config` says otherwise
        self.init_limit = 50  # ticks
        self.sync_limit = 10
        self.container_check = 60000  # ms between looks for empty containers
        self.tls = None  # none, want or need: the client's certificate
        self.tls_names = "IP:127.0.0.1,DNS:localhost"
        self.read_only = False  # without a quorum, serve reads to clients that ask for it; such a
        # session needs localSessionsEnabled=true in `config` too
        self.super_user = None  # "name:password"
        self.log_level = "info"
        self.jvm = []  # flags
        self.env = {}  # more for the environment of servers
        self.config = {}  # lines of zoo.cfg
        for name, value in given.items():
            assert name in vars(self), name
            setattr(self, name, value)


def ensemble(size=3, **options):
    chosen = Options(**options)
    ports = [[sandbox.reserve_port() for _ in range(4)] for _ in range(size)]

    def make_server(cluster, folder):
        return local_server(cluster, folder, ports, chosen)

    cluster = Cluster(size, make_server)
    cluster.ports = ports  # reserved as long as the servers live
    return cluster


def standalone(**options):
    return ensemble(1, **options)


def archive_classes(path):
    """Make a JVM dump the classes of a leader from memory.  The file exists once it is complete."""
    new = path.with_suffix(".new")
    with ensemble(2, log_level="warn", jvm=[f"-XX:ArchiveClassesAtExit={new}"]) as two:
        leader = two[two.leader() or 1]
        with zkwire.Client(leader.address) as zk:
            zk.delete(zk.create("/a", mode=zkwire.EPHEMERAL_SEQUENTIAL))
        leader.end()
        if leader.process.returncode < 0:
            raise Failed("it took too long to write")
    new.rename(path)


# ---- The command -----------------------------------------------------------------------


def answer(cluster, line):
    """Handle one line from HF_ZK_CTL; returns the answer."""
    verb, *rest = line.split()
    if verb in cluster.verbs:
        return cluster.verbs[verb](*rest)
    if verb == "wait":
        return cluster.wait()
    if verb == "leader":
        return str(cluster.leader() or "none")
    server = cluster[int(rest[0])]
    if verb in ("kill", "freeze", "thaw", "start"):
        return getattr(server, verb)()
    if verb == "stop":
        return server.end()
    if verb == "mode":
        return server.mode() or "none"
    if verb == "pid":
        return str(server.pid)
    if verb == "word":
        return server.word(rest[1])
    raise ValueError(f"{verb}: no such verb")


def environment(cluster):
    pids = [str(server.pid) for server in cluster.servers]
    env = {"HF_ZK": cluster.address, "HF_ZK_PID": pids[0], "HF_ZK_PIDS": ",".join(pids),
           "HF_ZK_DIR": str(cluster.folder)}
    if cluster.tls is not None:
        env["HF_ZKS"] = cluster.secure_address
    return env | server_process.certificates("HF_ZK", cluster.tls)


def run_beside(cluster, argv, env=None):
    """`env`: more for the command."""
    return server_process.run([arg.replace("@ZK@", cluster.address) for arg in argv], "HF_ZK",
                      environment(cluster) | (env or {}), cluster.folder,
                      lambda line: answer(cluster, line), cluster.servers)


def pair(text):
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text}: not KEY=VALUE")
    return key, value


def options_parser(prog, defaults):
    parser = argparse.ArgumentParser(prog=prog, usage=f"{prog} [options] -- COMMAND [ARG...]")
    parser.add_argument("--tick", type=int, help="ms")
    parser.add_argument("--init-limit", type=int, help="ticks")
    parser.add_argument("--sync-limit", type=int, help="ticks")
    parser.add_argument("--container-check", type=int, help="ms")
    parser.add_argument("--tls", choices=("none", "want", "need"),
                        help="a secure port, and the client's certificate there")
    parser.add_argument("--tls-names", help="names in the server's certificate")
    parser.add_argument("--read-only", action="store_true", help="allow read-only mode")
    parser.add_argument("--super-user", metavar="NAME:PASSWORD")
    parser.add_argument("--log-level")
    parser.add_argument("--jvm", action="append", metavar="FLAG")
    parser.add_argument("--config", action="append", type=pair, metavar="KEY=VALUE",
                        help="a line of zoo.cfg")
    parser.set_defaults(**vars(defaults) | {"config": list(defaults.config.items())})
    return parser


def parsed(parser, options):
    options = vars(parser.parse_args(options))
    return options | {"config": dict(options["config"])}


def start(kind, options, command):
    parser = options_parser(f"zookeeper.py {kind}", Options())
    parser.add_argument("--size", type=int, default=1 if kind == "standalone" else 3)
    with ensemble(**parsed(parser, options)) as cluster:
        return run_beside(cluster, command)


if __name__ == "__main__":
    sys.exit(server_process.main(sys.argv[1:], ("standalone", "ensemble"), "HF_ZK", __doc__, start))
