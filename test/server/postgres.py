#!/usr/bin/env python3
"""postgres - real PostgreSQL servers for tests.

As a command, it runs a server while another command runs:

    test/server/postgres.py standalone --setting deadlock_timeout=50ms -- COMMAND @PG@
    test/server/postgres.py pair -- COMMAND     with a synchronous standby, see postgres_pair.py
    test/server/postgres.py ctl restart         from inside COMMAND, see below

COMMAND has these in its environment; postgres://@PG@ in its arguments stands for the first:

    HF_PG_URL      a database of its own, empty, with name and password of its owner
    HF_PG_PORT     HF_PG_SOCKET  folder of the Unix socket     HF_PG_PID  the server's process
    HF_PG_ADMIN    a URL of the same database for its administrator
    HF_PG_DIR      folder with the log
    HF_PG_CTL      path of a Unix socket: write one line, read the answer to its end: "ok",
                   with the result, or "error" and why
    HF_PG_POOLER   with --pooler: as HF_PG_URL, through a pgbouncer in transaction mode
    HF_PG_CA, HF_PG_CERT, HF_PG_KEY, HF_PG_OTHER_CA ...  with --tls: files, see certs.py

Requests for HF_PG_CTL:

    restart [fast]   as after a crash, or as an administrator does; returns when it serves
    kill   SIGKILL to all of it      stop  as an administrator      start  with its files
    freeze SIGSTOP to all of it      thaw  SIGCONT                  pid    its process
    port
    terminate [APP]  end the connections of all applications whose names begin with APP (holdfast)
    sql TEXT         in that database, as the administrator; rows as lines, columns by "|"

and with a pair, where all of the above are for the primary:

    away   end the standby           back    start it again
    promote [kill]   the standby becomes the primary; the old one goes on, or is killed
    pair   end the old primary, and start a new standby on its port

The status is COMMAND's; 77 with a line "# SKIP why" if there is no PostgreSQL here.  As a
module: standalone() gives a Server.

Servers listen on free ports of 127.0.0.1, keep their files in memory, and die with the
thread that started them, however it ends; so does COMMAND.

HF_PG_DATA may name a folder that make_data() made: a copy of it takes a tenth of initdb's time.
"""
import argparse
import contextlib
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import server_process  # noqa: E402
import certs  # noqa: E402
import sandbox  # noqa: E402
import pq  # noqa: E402
from server_process import Failed, Missing  # noqa: E402

START_LIMIT = 20.0  # seconds, for a busy machine
USER, PASSWORD = "tester", "s3cret"
ADMIN, ADMIN_PASSWORD = "postgres", "4dmin"
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src/store/postgres"
ALWAYS = {
    "listen_addresses": "127.0.0.1", "max_connections": "200", "shared_buffers": "16MB",
    "max_wal_size": "64MB", "min_wal_size": "32MB", "wal_recycle": "off",
    "wal_init_zero": "off", "dynamic_shared_memory_type": "mmap", "log_line_prefix": "%m [%p] ",
    "authentication_timeout": "10s", "max_replication_slots": "2", "max_wal_senders": "2",
}


def version():
    """Of the schema."""
    return int(re.search(r"hf_pg_schema_version = (\d+)", (SOURCE / "schema.c").read_text())[1])


def schema_text(of_version=None):
    """As `holdfast init --print` writes it."""
    return (f"DO $holdfast$ BEGIN\nPERFORM set_config('holdfast.version', '{of_version or version()}', true);\n" +
            (SOURCE / "schema.sql").read_text() + "END $holdfast$;\n")


def program(name):
    """Debian keeps those of a server where no PATH leads."""
    folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"),
                     key=lambda path: float(path.parent.name), reverse=True)
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", *map(str, folders)])
    found = shutil.which(name, path=path)
    if found is None:
        raise Missing(f"no {name} here")
    return found


def check_installed():
    """Check that all programs are installed."""
    try:
        pq.load()
    except pq.Missing as missing:
        raise Missing(str(missing)) from None
    program("initdb"), program("postgres")
    servant()


def servant():
    """(user, group) for servers, since they refuse to run as root; None: we are not root."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("postgres")
    except KeyError:
        raise Missing("no user postgres here, and we are root") from None
    return entry.pw_uid, entry.pw_gid


def as_servant(argv):
    user = servant()
    if user is None:
        return argv
    return ["setpriv", "--reuid", str(user[0]), "--regid", str(user[1]), "--clear-groups", *argv]


def give_to_servant(*paths):
    for path in paths if servant() else ():
        os.chown(path, *servant())


def children(pid):
    """All processes of a server."""
    try:
        ret = [int(word) for word in
               pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return ret + [below for child in ret for below in children(child)]


class Frozen:
    """Processes that are stopped until thaw(), or until we are dead."""

    def __init__(self, pids):
        self.pids = pids
        self.keeper = subprocess.Popen(
            ["sh", "-c", 'read -r _; kill -CONT "$@" 2>/dev/null', "sh", *map(str, pids)],
            stdin=subprocess.PIPE)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def thaw(self):
        self.keeper.stdin.close()
        self.keeper.wait()


def run_as_servant(argv, folder):
    done = subprocess.run(as_servant(argv), cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise Failed(f"{argv[0]}: {done.stdout.strip()}")


def init(data):
    run_as_servant([program("initdb"), "--no-sync", "--no-instructions", "--locale=C",
                    "--encoding=UTF8", "--auth=trust", f"--username={ADMIN}", "-D", str(data)],
                   data.parent)


def make_data(folder):
    """Data that servers can start with, for HF_PG_DATA."""
    check_installed()
    folder.mkdir(mode=0o755)
    give_to_servant(folder)
    init(folder / "data")
    return folder / "data"


# ---- A server ------------------------------------------------------------------------


class Server(server_process.Process):
    """Use it in a `with`, or call stop(), which removes its files, too.

    `settings`: of postgresql.conf; `access`: lines of pg_hba.conf, before ours; `env`: more
    for its environment; `copy_of`: another server whose standby it is to be; `keeper`: of
    its port, if that is to be another server's that is gone."""

    def __init__(self, *, tls=None, settings=None, access=(), env=None, copy_of=None, keeper=None):
        check_installed()
        self.process, self.frozen, self.others = None, None, []
        self._keeper = keeper or sandbox.reserve_port()
        self.port = self._keeper.getsockname()[1]
        self.folder, self._lock = sandbox.make_folder()
        self.data, self.socket = self.folder / "data", str(self.folder / "socket")
        self.env, self.tls, self.database = env or {}, None, "test"
        try:
            os.mkdir(self.socket, 0o755)
            give_to_servant(self.folder, self.socket)
            self._make(copy_of)
            own = ALWAYS | {"port": self.port, "unix_socket_directories": self.socket}
            if tls:
                own |= self._secure(tls)
            with open(self.data / "postgresql.auto.conf", "a") as file:
                for name, value in (own | (settings or {})).items():
                    file.write(f"{name} = '{value}'\n")
            asked = "clientcert=verify-ca" if tls == "need" else ""
            rules = [*access, "local all all trust", "local replication all trust",
                     f"{'hostssl' if tls in ('only', 'need') else 'host'} all all all scram-sha-256 {asked}",
                     "host replication all all scram-sha-256"]
            (self.data / "pg_hba.conf").write_text("\n".join(rules) + "\n")
        except BaseException:
            self.stop()
            raise

    def _make(self, copy_of):
        if copy_of is None and os.path.isdir(made := os.environ.get("HF_PG_DATA", "")):
            run_as_servant(["cp", "-rp", made, str(self.data)], self.folder)
        elif copy_of is None:
            init(self.data)
        else:
            self.run("pg_basebackup", "--no-sync", "-R", "-c", "fast", "-X", "stream",
                     "-d", f"host={copy_of.socket} port={copy_of.port} user={ADMIN}",
                     "-D", str(self.data))

    def _secure(self, tls):
        self.tls = certs.make(self.folder / "certs")
        own = self.folder / "server.pem"
        shutil.copy(self.tls["server"], own)
        os.chmod(own, 0o600)
        give_to_servant(own)
        os.chmod(self.folder / "certs", 0o755)
        return {"ssl": "on", "ssl_cert_file": own, "ssl_key_file": own,
                "ssl_ca_file": self.tls["ca"]}

    def run(self, name, *args):
        run_as_servant([program(name), *args], self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # ---- Where it is

    @property
    def url(self):
        return self.url_of(self.database)

    def url_of(self, database, user=USER, password=PASSWORD, port=None):
        return f"postgres://{user}:{password}@127.0.0.1:{port or self.port}/{database}"

    def admin_url(self, database=None):
        return self.url_of(database or self.database, ADMIN, ADMIN_PASSWORD)

    def connect(self, database=None, user=ADMIN, more=""):
        """A pq.Link to the Unix socket."""
        return pq.Link(f"host={self.socket} port={self.port} user={user} "
                       f"dbname={database or self.database} {more}")

    def sql(self, text, database=None):
        """Run it as the administrator; returns rows, if there are any."""
        with self.connect(database) as link:
            return link.run(text)

    def createdb(self, name, schema=False):
        """Make a database that belongs to USER, with the schema if wanted.  Returns its URL."""
        self.sql(f'CREATE DATABASE "{name}" OWNER {USER}', "postgres")
        if schema:
            with self.connect(name, USER) as link:
                link.run(schema_text())
        return self.url_of(name)

    def dropdb(self, name):
        self.sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)', "postgres")

    # ---- Its life

    def start(self):
        """Returns when it serves."""
        argv = sandbox.dying_with_us([program("postgres"), "-D", str(self.data)], "QUIT")
        end = time.monotonic() + START_LIMIT
        while True:
            self.launch(as_servant(argv), env=os.environ | self.env)
            try:
                return self.wait(START_LIMIT)
            except server_process.Failed as failed:  # processes of one that was killed may live on for a moment
                if "shared memory block" not in str(failed) or time.monotonic() > end:
                    raise
            time.sleep(0.05)

    def serves(self):
        try:
            self.connect("postgres").close()
        except pq.Error:
            return False
        return True

    def furnish(self):
        self.sql(f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}';"
                 f"ALTER ROLE {ADMIN} PASSWORD '{ADMIN_PASSWORD}'", "postgres")
        self.createdb(self.database)

    def end(self, mode="fast"):
        """As an administrator does; or "immediate", which is like a crash."""
        self.thaw()
        super().end(signal.SIGINT if mode == "fast" else signal.SIGQUIT)

    def restart(self, mode="immediate"):
        self.end(mode)
        self.start()

    def kill(self):
        """Kill all its processes at once, as if the machine had failed."""
        if self.running():
            for pid in [self.pid, *children(self.pid)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
        self.thaw()

    def freeze(self):
        assert self.frozen is None
        self.frozen = Frozen([self.pid, *children(self.pid)])

    def thaw(self):
        if self.frozen is not None:
            self.frozen.thaw()
            self.frozen = None

    def terminate_backends(self, app="holdfast"):
        """Returns how many connections there were."""
        with self.connect("postgres") as link:
            return link.call("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                             "WHERE starts_with(application_name, $1)", app)[0][0]

    def standby(self, **more):
        """A read-only standby of this server."""
        return self._keep(Server(copy_of=self, **more))

    def pgbouncer(self, pool_mode="transaction", **settings):
        return self._keep(Pooler(self, pool_mode, settings))

    def _keep(self, other):
        """It ends when we end."""
        self.others.append(other)
        other.start()
        return other

    def give_port(self):
        """Stop for good; returns the reserved port for another server."""
        keeper, self._keeper = self._keeper, None
        self.stop()
        return keeper

    def stop(self):
        """Stop for good, and remove all files."""
        for other in self.others:
            other.stop()
        self.end("immediate")
        if self._keeper is not None:
            self._keeper.close()
        if self._lock is not None:
            self._free_memory()
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._lock)
            self._lock = None

    def _free_memory(self):
        """A killed server leaves a little System V shared memory."""
        with contextlib.suppress(OSError, IndexError):
            number = (self.data / "postmaster.pid").read_text().splitlines()[6].split()[1]
            subprocess.run(["ipcrm", "-m", number], stderr=subprocess.DEVNULL)


class Pooler(server_process.Process):
    """A pgbouncer in front of a server."""

    def __init__(self, server, pool_mode, settings):
        self.server = server
        self._keeper = sandbox.reserve_port()
        self.port = self._keeper.getsockname()[1]
        self.folder = server.folder / f"pooler{len(server.others)}"
        self.folder.mkdir()
        users = {USER: PASSWORD, ADMIN: ADMIN_PASSWORD}
        (self.folder / "users").write_text("".join(f'"{u}" "{p}"\n' for u, p in users.items()))
        own = {"listen_addr": "127.0.0.1", "listen_port": self.port, "pool_mode": pool_mode,
               "auth_type": "scram-sha-256", "auth_file": self.folder / "users",
               "unix_socket_dir": "", "max_client_conn": 500, "default_pool_size": 20,
               "server_login_retry": 0.1, "admin_users": ADMIN}
        lines = ["[databases]", f"* = host=127.0.0.1 port={server.port}", "[pgbouncer]",
                 *(f"{name} = {value}" for name, value in (own | settings).items())]
        (self.folder / "ini").write_text("\n".join(lines) + "\n")

    @property
    def url(self):
        return self.server.url_of(self.server.database, port=self.port)

    def url_of(self, database, user=USER, password=PASSWORD):
        return self.server.url_of(database, user, password, self.port)

    def start(self):
        self.launch(as_servant(sandbox.dying_with_us([program("pgbouncer"), str(self.folder / "ini")])))
        self.wait(START_LIMIT)

    def serves(self):
        try:
            pq.Link(self.url).close()
        except pq.Error:
            return False
        return True

    def stop(self):
        self.kill()
        self._keeper.close()


def standalone(tls=None, settings=None, access=(), env=None):
    """`tls`: "want", "only", or "need", which requires a client's certificate as well."""
    server = Server(tls=tls, settings=settings, access=access, env=env)
    try:
        server.start()
        server.furnish()
    except BaseException:
        server.stop()
        raise
    return server


# ---- The command -----------------------------------------------------------------------


def answer(server, line):
    """Handle one line from HF_PG_CTL; returns the answer."""
    verb, _, rest = line.strip().partition(" ")
    if verb in ("kill", "freeze", "thaw", "start"):
        return getattr(server, verb)()
    if verb == "restart":
        return server.restart(rest or "immediate")
    if verb == "stop":
        return server.end()
    if verb in ("pid", "port"):
        return str(getattr(server, verb))
    if verb == "terminate":
        return str(server.terminate_backends(rest or "holdfast"))
    if verb in ("away", "back", "pair", "promote"):
        return getattr(server, verb)(*rest.split())
    if verb == "sql":
        return "\n".join("|".join(map(str, row)) for row in server.sql(rest))
    raise ValueError(f"{verb}: no such verb")


def environment(server):
    env = {"HF_PG_URL": server.url, "HF_PG_PORT": str(server.port),
           "HF_PG_SOCKET": server.socket, "HF_PG_PID": str(server.pid),
           "HF_PG_ADMIN": server.admin_url(), "HF_PG_DIR": str(server.folder)}
    for other in server.others:
        env["HF_PG_POOLER"] = other.url
    return env | server_process.certificates("HF_PG", server.tls)


def run_beside(server, argv):
    return server_process.run([arg.replace("@PG@", server.url.partition("//")[2]) for arg in argv],
                      "HF_PG", environment(server), server.folder,
                      lambda line: answer(server, line), [server])


def options_parser():
    prog = "postgres.py standalone"
    parser = argparse.ArgumentParser(prog=prog, usage=f"{prog} [options] -- COMMAND [ARG...]")
    parser.add_argument("--tls", choices=("want", "only", "need"), help="the last: a client's "
                        "certificate as well")
    parser.add_argument("--setting", dest="settings", action="append", default=[],
                        metavar="NAME=VALUE", help="of postgresql.conf")
    parser.add_argument("--pooler", action="store_true", help="a pgbouncer, too")
    return parser


def start(kind, options, command):
    options = options_parser().parse_args(options)
    settings = dict(text.split("=", 1) for text in options.settings)
    if options.pooler:
        program("pgbouncer")
    import postgres_pair  # which imports this module
    make = postgres_pair.pair if kind == "pair" else standalone
    with make(tls=options.tls, settings=settings) as server:
        if options.pooler:
            server.pgbouncer()
        return run_beside(server, command)


if __name__ == "__main__":
    import postgres  # this module by its name

    sys.exit(server_process.main(sys.argv[1:], ("standalone", "pair"), "HF_PG", __doc__, postgres.start))
