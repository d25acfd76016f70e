#!/usr/bin/env python3
"""mariadb - real MariaDB servers for tests.

As a command, it runs a server while another command runs:

    test/server/mariadb.py standalone --setting max_connections=20 -- COMMAND @MARIADB@
    test/server/mariadb.py ctl restart          from inside COMMAND, see below

COMMAND has these in its environment; mariadb://@MARIADB@ in its arguments stands for the first:

    HF_MARIADB_URL     a database of its own, empty, with name and password of its owner
    HF_MARIADB_PORT    HF_MARIADB_SOCKET  path of the Unix socket     HF_MARIADB_PID  its process
    HF_MARIADB_ADMIN   a URL of the same database for its administrator
    HF_MARIADB_DIR     folder with the log
    HF_MARIADB_CTL     path of a Unix socket: write one line, read the answer to its end: "ok",
                       with the result, or "error" and why
    HF_MARIADB_CA, HF_MARIADB_CERT, HF_MARIADB_KEY, HF_MARIADB_OTHER_CA ...  with --tls: files,
                       see certs.py

Requests for HF_MARIADB_CTL:

    restart [fast]   as after a crash, or as an administrator does; returns when it serves
    kill   SIGKILL      stop  as an administrator      start  with its files
    freeze SIGSTOP      thaw  SIGCONT                  pid, port
    terminate [USER]    KILL CONNECTION for all connections of a user (tester)
    sql TEXT            in that database, as the administrator; rows as lines, columns by "|"

The status is COMMAND's; 77 with a line "# SKIP why" if there is no MariaDB here.  As a
module: standalone() gives a Server.

Servers listen on free ports of 127.0.0.1, keep their files in memory, and die with the
thread that started them, however it ends; so does COMMAND.

HF_MARIADB_DATA may name a folder that make_data() made: a copy of it takes a tenth of the time.
"""
import argparse
import os
import pathlib
import pwd
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import server_process  # noqa: E402
import certs  # noqa: E402
import mywire  # noqa: E402
import sandbox  # noqa: E402
from server_process import Failed, Missing  # noqa: E402

START_LIMIT = 30.0  # seconds, for a busy machine
USER, PASSWORD = "tester", "s3cret"
ADMIN, ADMIN_PASSWORD = "root", "4dmin"  # no password on the Unix socket
SERVANT = "mysql"
ALWAYS = {
    "bind-address": "127.0.0.1", "skip-name-resolve": "ON", "max-connections": "400",
    "innodb-buffer-pool-size": "32M", "innodb-log-file-size": "8M", "innodb-flush-method": "fsync",
    "innodb-flush-log-at-trx-commit": "1", "performance-schema": "OFF",
}


def program(name):
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
    if found is None:
        raise Missing(f"no {name} here")
    return found


def check_installed():
    """Check that all programs are installed."""
    program("mariadb-install-db"), program("mariadbd")
    servant()


def servant():
    """(user, group) for servers, since they refuse to run as root; None: we are not root."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(SERVANT)
    except KeyError:
        raise Missing(f"no user {SERVANT} here, and we are root") from None
    return entry.pw_uid, entry.pw_gid


def as_servant(argv):
    user = servant()
    if user is None:
        return argv
    return ["setpriv", "--reuid", str(user[0]), "--regid", str(user[1]), "--clear-groups", *argv]


def give_to_servant(*paths):
    for path in paths if servant() else ():
        os.chown(path, *servant())


def run_as_servant(argv, folder):
    done = subprocess.run(as_servant(argv), cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          env=os.environ | {"TMPDIR": str(folder)},  # ours is closed to others
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise Failed(f"{argv[0]}: {done.stdout.strip()}")


def init(data):
    run_as_servant([program("mariadb-install-db"), "--no-defaults", f"--datadir={data}",
                    "--auth-root-authentication-method=normal", "--skip-test-db",
                    "--skip-name-resolve", "--innodb-log-file-size=8M",
                    "--innodb-flush-method=fsync"], data.parent)


def make_data(folder):
    """Data that servers can start with, for HF_MARIADB_DATA."""
    check_installed()
    folder.mkdir(mode=0o755)
    give_to_servant(folder)
    init(folder / "data")
    return folder / "data"


# ---- A server ------------------------------------------------------------------------


class Server(server_process.Process):
    """Use it in a `with`, or call stop(), which removes its files, too.

    `settings`: options of mariadbd; `env`: more for its environment; `data`: the folder of its
    data, not in memory, which must not exist yet."""

    def __init__(self, *, tls=None, settings=None, env=None, data=None):
        check_installed()
        self.process = None
        self._keeper = sandbox.reserve_port()
        self.port = self._keeper.getsockname()[1]
        self.folder, self._lock = sandbox.make_folder()
        self.data, self.socket = data or self.folder / "data", str(self.folder / "run/socket")
        self.env, self.tls, self.wants, self.database = env or {}, None, tls, "test"
        try:
            os.mkdir(self.folder / "run", 0o755)
            give_to_servant(self.folder, self.folder / "run")
            if os.path.isdir(made := os.environ.get("HF_MARIADB_DATA", "")):
                run_as_servant(["cp", "-rp", made, str(self.data)], self.folder)
            else:
                init(self.data)
            own = ALWAYS | {"port": self.port, "socket": self.socket, "datadir": self.data,
                            "tmpdir": self.folder / "run", "pid-file": self.folder / "run/pid"}
            if tls:
                own |= self._secure()
            self.settings = own | (settings or {})
        except BaseException:
            self.stop()
            raise

    def _secure(self):
        self.tls = certs.make(self.folder / "certs")
        own = self.folder / "server.pem"
        shutil.copy(self.tls["server"], own)
        os.chmod(own, 0o600)
        give_to_servant(own)
        os.chmod(self.folder / "certs", 0o755)
        return {"ssl-cert": own, "ssl-key": own, "ssl-ca": self.tls["ca"],
                "require-secure-transport": "ON" if self.wants == "only" else "OFF"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # ---- Where it is

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return self.url_of(self.database)

    def url_of(self, database, user=USER, password=PASSWORD):
        return f"mariadb://{user}:{password}@{self.address}/{database}"

    def admin_url(self, database=None):
        return self.url_of(database or self.database, ADMIN, ADMIN_PASSWORD)

    def connect(self, database=None, user=ADMIN, password=""):
        """A mywire.Link to the Unix socket; to no database if that is ""."""
        return mywire.Link(self.socket, user, password,
                           self.database if database is None else database)

    def sql(self, text, database=None):
        """Run it as the administrator; returns rows, if there are any."""
        with self.connect(database) as link:
            return link.run(text)

    def createdb(self, name):
        """Make a database that belongs to USER.  Returns its URL."""
        self.sql(f"CREATE DATABASE `{name}`; GRANT ALL ON `{name}`.* TO {USER}@'%'", "")
        return self.url_of(name)

    def dropdb(self, name):
        self.sql(f"DROP DATABASE IF EXISTS `{name}`", "")

    # ---- Its life

    def start(self):
        """Returns when it serves."""
        options = [f"--{name}={value}" for name, value in self.settings.items()]
        argv = sandbox.dying_with_us([program("mariadbd"), "--no-defaults", *options])
        self.launch(as_servant(argv), env=os.environ | self.env)
        self.wait(START_LIMIT)

    def serves(self):
        try:
            self.connect("").close()
        except mywire.Error:
            return False
        return True

    def furnish(self):
        asked = "REQUIRE X509" if self.wants == "need" else ""
        self.sql(f"CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}' {asked};"
                 f"CREATE OR REPLACE USER {ADMIN}@'127.0.0.1' IDENTIFIED BY '{ADMIN_PASSWORD}';"
                 f"GRANT ALL ON *.* TO {ADMIN}@'127.0.0.1' WITH GRANT OPTION", "")
        self.createdb(self.database)

    def end(self, mode="fast"):
        """As an administrator does; or "immediate", which is a crash."""
        if mode == "fast":
            super().end()
        else:
            self.kill()

    def restart(self, mode="immediate"):
        self.end(mode)
        self.start()

    def terminate(self, user=USER):
        """KILL CONNECTION.  Returns how many connections there were."""
        with self.connect("") as link:
            found = link.call("SELECT id FROM information_schema.processlist WHERE user = ?", user)
            for (thread,) in found:
                try:
                    link.run(f"KILL CONNECTION {thread}")
                except mywire.Error as error:
                    if error.code != 1094:  # it has just ended
                        raise
        return len(found)

    def stop(self):
        """Stop for good, and remove all files."""
        self.kill()
        self._keeper.close()
        if self._lock is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def standalone(tls=None, settings=None, env=None, data=None):
    """`tls`: "want", "only", or "need", which requires a client's certificate as well."""
    server = Server(tls=tls, settings=settings, env=env, data=data)
    try:
        server.start()
        server.furnish()
    except BaseException:
        server.stop()
        raise
    return server


# ---- The command -----------------------------------------------------------------------


def answer(server, line):
    """Handle one line from HF_MARIADB_CTL; returns the answer."""
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
        return str(server.terminate(rest or USER))
    if verb == "sql":
        return "\n".join("|".join(map(shown, row)) for row in server.sql(rest))
    raise ValueError(f"{verb}: no such verb")


def shown(value):
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def environment(server):
    env = {"HF_MARIADB_URL": server.url, "HF_MARIADB_PORT": str(server.port),
           "HF_MARIADB_SOCKET": server.socket, "HF_MARIADB_PID": str(server.pid),
           "HF_MARIADB_ADMIN": server.admin_url(), "HF_MARIADB_DIR": str(server.folder)}
    return env | server_process.certificates("HF_MARIADB", server.tls)


def run_beside(server, argv):
    return server_process.run(
        [arg.replace("@MARIADB@", server.url.partition("//")[2]) for arg in argv], "HF_MARIADB",
        environment(server), server.folder, lambda line: answer(server, line), [server])


def options_parser():
    prog = "mariadb.py standalone"
    parser = argparse.ArgumentParser(prog=prog, usage=f"{prog} [options] -- COMMAND [ARG...]")
    parser.add_argument("--tls", choices=("want", "only", "need"), help="the last: a client's "
                        "certificate as well")
    parser.add_argument("--setting", dest="settings", action="append", default=[],
                        metavar="NAME=VALUE", help="an option of mariadbd")
    return parser


def start(kind, options, command):
    assert kind == "standalone"
    options = options_parser().parse_args(options)
    settings = dict(text.split("=", 1) for text in options.settings)
    with standalone(tls=options.tls, settings=settings) as server:
        return run_beside(server, command)


if __name__ == "__main__":
    sys.exit(server_process.main(sys.argv[1:], ("standalone",), "HF_MARIADB", __doc__, start))
