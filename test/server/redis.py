#!/usr/bin/env python3
"""redis - real Redis servers for tests: alone, or with a replica and sentinels.

As a command, it runs servers while another command runs:

    test/server/redis.py standalone --aof -- COMMAND @REDIS@
    test/server/redis.py pair --sentinels 1 -- COMMAND
    test/server/redis.py ctl kill 1             from inside COMMAND, see below

COMMAND has these in its environment; @REDIS@ in its arguments stands for the first:

    HF_REDIS_ADDRESS  host:port of the first server, the master
    HF_REDIS_PORT     the port alone;  HF_REDIS_SOCKET  path of its Unix socket
    HF_REDIS_PID      its process;     HF_REDIS_PIDS    of all, with commas between
    HF_REDIS_DIR      folder with a log of each: 1/log, 2/log, ...
    HF_REDIS_CTL      path of a Unix socket: write one line, read the answer to its end:
                      "ok", with what was asked for, or "error" and why
    HF_REDIS_REPLICA, HF_REDIS_SENTINELS   host:port, those of a pair
    HF_REDIS_TLS      with --tls: host:port of the secure port; HF_REDIS_CA, _CERT, _KEY
                      and HF_REDIS_OTHER_CA, _OTHER_CERT, _OTHER_KEY: files, see certs.py
    HF_REDIS_PASS     with --pass

Requests for HF_REDIS_CTL, N being 1 for the first server, 2 for its replica,
3 and more for sentinels:

    kill N    SIGKILL       stop N   SIGTERM       both return when it is gone
    freeze N  SIGSTOP       thaw N   SIGCONT
    start N   again, with its files                returns when it serves
    restart N               kill and start
    pid N     its process   promote  the replica, by hand
    failover  as planned, by a sentinel; returns when all of them name the new master

The status is COMMAND's; 77 with a line "# SKIP why" if there is no Redis here.  As a
module: standalone() gives a Server, pair() a Pair.

Servers listen on free ports of 127.0.0.1, keep their files in memory, and die with the
thread that started them, however it ends; so does COMMAND.
"""
import argparse
import os
import pathlib
import shutil
import ssl
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import server_process  # noqa: E402
import certs  # noqa: E402
import sandbox  # noqa: E402
import resp  # noqa: E402
from server_process import Failed, Missing, started  # noqa: E402,F401

START_LIMIT = 20.0  # seconds, for a busy machine
SERVICE = "holdfast"  # what sentinels call the pair
ALWAYS = [
    "bind 127.0.0.1", "protected-mode no", "daemonize no", 'save ""', "unixsocketperm 700",
    "enable-debug-command local", "repl-diskless-sync-delay 0", "repl-ping-replica-period 1",
]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# ---- One server ----------------------------------------------------------------------


class Server(server_process.Process):
    """`lines`: of its redis.conf; `env`: more for its environment.  Use it in a `with`, or call stop(),
    which removes its files, too, if the folder is its own."""

    def __init__(self, folder, lines, *, tls=None, password=None, program="redis-server",
                 owned=None, env=None):
        if shutil.which(program) is None:
            raise Missing(f"no {program} here")
        self.folder, self.tls, self.password = folder, tls, password
        self._keepers = [sandbox.reserve_port() for _ in range(2)]
        self.port, tls_port = (keeper.getsockname()[1] for keeper in self._keepers)
        self.address = f"127.0.0.1:{self.port}"
        self.tls_port = tls_port if tls else None
        self.path = str(folder / "redis.sock")
        self.process, self._owned, self.env = None, owned, env or {}
        folder.mkdir(parents=True, exist_ok=True)
        own = [f"port {self.port}", f"unixsocket {self.path}", f"dir {folder}", *ALWAYS]
        if program == "redis-sentinel":
            own = [line for line in own if not line.startswith(("save", "repl-", "enable-"))]
        if tls:
            own += [f"tls-port {tls_port}", f"tls-cert-file {tls['server']}",
                    f"tls-key-file {tls['server']}", f"tls-ca-cert-file {tls['ca']}"]
        if password is not None:
            own += [f"requirepass {quoted(password)}", f"masterauth {quoted(password)}"]
        (folder / "redis.conf").write_text("\n".join([*own, *lines]) + "\n")
        self.argv = [program, str(folder / "redis.conf")]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def __getattr__(self, name):
        """ca, cert, key, other_ca, other_cert, other_key: files."""
        if name in server_process.CERTIFICATES:
            return self.tls[name] if self.tls else None
        raise AttributeError(name)

    @property
    def tls_address(self):
        return f"127.0.0.1:{self.tls_port}"

    def start(self):
        """Returns when it serves."""
        self.launch(sandbox.dying_with_us(self.argv), env=os.environ | self.env)
        self.wait(START_LIMIT)

    def serves(self):
        try:
            with resp.Client(self.path, timeout=2.0) as link:
                link.call("PING")
        except resp.Error as error:
            return error.code not in ("LOADING", "MASTERDOWN")
        except OSError:
            return False
        return True

    def client(self, **more):
        """A resp.Client on the Unix socket, as the default user."""
        return resp.Client(self.path, **{"password": self.password} | more)

    def restart(self):
        self.kill()
        self.start()

    def stop(self):
        """Stop for good, and remove all files."""
        self.kill()
        for keeper in self._keepers:
            keeper.close()
        if self._owned is not None:
            remove_folder(*self._owned)
            self._owned = None


def remove_folder(folder, lock):
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def settings(folder, tls, aof, acl, options):
    """Lines of redis.conf, and the certificates.  `tls`: the client's certificate is
    "none" (or True), "want" or "need"."""
    lines, files = [], None
    if tls:
        files = certs.make(folder / "certs")
        answer = {"need": "yes", "want": "optional"}.get(tls, "no")
        lines += [f"tls-auth-clients {answer}"]
    if aof:
        lines += ["appendonly yes", "appendfsync always"]
    lines += [f"user {text}" for text in acl or []]
    return [*lines, *(options or [])], files


def standalone(tls=None, aof=False, requirepass=None, acl=None, options=None, env=None):
    """`acl`: what follows "user" in lines of redis.conf; `options`: whole such lines."""
    folder, lock = sandbox.make_folder()
    try:
        lines, files = settings(folder, tls, aof, acl, options)
        server = Server(folder / "1", lines, tls=files, password=requirepass,
                        owned=(folder, lock), env=env)
    except BaseException:
        remove_folder(folder, lock)
        raise
    return started(server)


# ---- Master, replica, sentinels ----------------------------------------------------------


class Pair:
    """servers[0] is the first master, servers[1] its replica; sentinels follow.  Use it in
    a `with`, or call stop()."""

    def __init__(self, sentinels, quorum, down_after, failover, **given):
        self.folder, self._lock = sandbox.make_folder()
        self.servers = []
        self._limits = quorum, down_after, failover
        try:
            password = given.pop("requirepass", None)
            lines, files = settings(self.folder, **given)
            for name in ("1", "2"):
                self.servers.append(Server(self.folder / name, lines, tls=files,
                                           password=password))
            for number in range(3, 3 + sentinels):
                self.servers.append(self._sentinel(str(number), password))
        except BaseException:
            self.stop()
            raise

    def _sentinel(self, name, password):
        quorum, down_after, failover = self._limits
        lines = [f"sentinel monitor {SERVICE} 127.0.0.1 {self.servers[0].port} {quorum}",
                 f"sentinel down-after-milliseconds {SERVICE} {down_after}",
                 f"sentinel failover-timeout {SERVICE} {failover}"]
        if password is not None:
            lines += [f"sentinel auth-pass {SERVICE} {quoted(password)}"]
        return Server(self.folder / name, lines, program="redis-sentinel")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def master(self):
        return self.servers[0]

    @property
    def replica(self):
        return self.servers[1]

    @property
    def sentinels(self):
        return self.servers[2:]

    @property
    def sentinel_address(self):
        return ",".join(sentinel.address for sentinel in self.sentinels)

    def start(self):
        """Returns when the replica has all data, and every sentinel knows it."""
        self.master.start()
        self.replica.start()
        self.follow(self.master, self.replica)
        for sentinel in self.sentinels:
            sentinel.start()
            with sentinel.client() as link:
                # How often they poll their servers: every 10 s and 1 s by default.
                for what in ("INFO-PERIOD", "PING-PERIOD"):
                    link.call("SENTINEL", "DEBUG", what, 100)
        until("the sentinels know the replica", self._known)

    def _known(self):
        for sentinel in self.sentinels:
            with sentinel.client() as link:
                told = link.call("SENTINEL", "MASTER", SERVICE)
            told = dict(zip(told[::2], told[1::2]))
            seen = told["num-slaves"], told["num-other-sentinels"]
            if seen != ("1", str(len(self.sentinels) - 1)):
                return False
        return True

    def follow(self, master, replica):
        """Make a server the replica of the other; returns when it has all data."""
        with replica.client() as link:
            link.call("REPLICAOF", "127.0.0.1", master.port)
            until("the replica is up", lambda: "master_link_status:up" in link.call("INFO", "replication"))

    def promote(self):
        """The replica becomes a master, by hand; the old master is not informed."""
        with self.replica.client() as link:
            link.call("REPLICAOF", "NO", "ONE")

    def named(self):
        """The masters that the sentinels name, by their ports."""
        ports = set()
        for sentinel in self.sentinels:
            with sentinel.client() as link:
                ports.add(link.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)[1])
        return ports

    def failover(self):
        """As an administrator does.  The old master is alive, and learns of it much later."""
        before = self.named()
        with self.sentinels[0].client() as link:
            link.call("SENTINEL", "FAILOVER", SERVICE)
        until("they name another", lambda: len(self.named()) == 1 and self.named() != before)

    def stop(self):
        """Kill them: their data are removed, too."""
        for server in self.servers:
            server.stop()
        if self._lock is not None:
            remove_folder(self.folder, self._lock)
            self._lock = None


def until(what, true):
    server_process.until(what, true, START_LIMIT)


def pair(sentinels=0, quorum=1, down_after=300, failover=2000, tls=None, aof=False,
         requirepass=None, acl=None, options=None):
    """`down_after`, `failover`: ms; the latter is how soon they try again, too."""
    return started(Pair(sentinels, quorum, down_after, failover, tls=tls, aof=aof,
                        requirepass=requirepass, acl=acl, options=options))


def tls_context(server, stranger=False):
    """For resp.Client: with a certificate that the server accepts."""
    context = ssl.create_default_context(cafile=server.ca)
    if stranger:
        context.load_cert_chain(server.other_cert, server.other_key)
    else:
        context.load_cert_chain(server.cert, server.key)
    return context


# ---- The command -----------------------------------------------------------------------


def answer(servers, group, line):
    """Handle one line from HF_REDIS_CTL; returns the answer."""
    verb, *rest = line.split()
    if verb in ("promote", "failover"):
        return getattr(group, verb)()
    server = servers[int(rest[0] if rest else 1) - 1]
    if verb in ("kill", "freeze", "thaw", "start", "restart"):
        return getattr(server, verb)()
    if verb == "stop":
        return server.end()
    if verb == "pid":
        return str(server.pid)
    raise ValueError(f"{verb}: no such verb")


def environment(servers, group):
    first = servers[0]
    pids = [str(server.pid) for server in servers]
    env = {"HF_REDIS_ADDRESS": first.address, "HF_REDIS_PORT": str(first.port),
           "HF_REDIS_SOCKET": first.path, "HF_REDIS_PID": pids[0],
           "HF_REDIS_PIDS": ",".join(pids), "HF_REDIS_DIR": str(first.folder.parent)}
    if first.password is not None:
        env["HF_REDIS_PASS"] = first.password
    if first.tls:
        env["HF_REDIS_TLS"] = first.tls_address
    if isinstance(group, Pair):
        env["HF_REDIS_REPLICA"] = group.replica.address
        env["HF_REDIS_SENTINELS"] = group.sentinel_address
    return env | server_process.certificates("HF_REDIS", first.tls)


def run_beside(group, argv):
    servers = group.servers if isinstance(group, Pair) else [group]
    return server_process.run([arg.replace("@REDIS@", servers[0].address) for arg in argv], "HF_REDIS",
                      environment(servers, group), servers[0].folder.parent,
                      lambda line: answer(servers, group, line), servers)


def options_parser(kind):
    prog = f"redis.py {kind}"
    parser = argparse.ArgumentParser(prog=prog, usage=f"{prog} [options] -- COMMAND [ARG...]")
    parser.add_argument("--tls", nargs="?", const="none", choices=("none", "want", "need"),
                        help="a secure port, and the client's certificate there")
    parser.add_argument("--aof", action="store_true", help="keep data, synced at every write")
    parser.add_argument("--pass", dest="requirepass", metavar="PASSWORD")
    parser.add_argument("--acl", action="append", metavar="RULES", help='"name on >password ..."')
    parser.add_argument("--option", dest="options", action="append", metavar="LINE",
                        help="of redis.conf; = may stand for the first blank")
    if kind == "pair":
        parser.add_argument("--sentinels", type=int, default=0)
        parser.add_argument("--quorum", type=int, default=1)
        parser.add_argument("--down-after", type=int, default=300, help="ms")
        parser.add_argument("--failover", type=int, default=2000, help="ms")
    return parser


def start(kind, options, command):
    options = vars(options_parser(kind).parse_args(options))
    options["options"] = [line.replace("=", " ", 1) for line in options["options"] or []]
    with (pair if kind == "pair" else standalone)(**options) as group:
        return run_beside(group, command)


if __name__ == "__main__":
    sys.exit(server_process.main(sys.argv[1:], ("standalone", "pair"), "HF_REDIS", __doc__, start))
