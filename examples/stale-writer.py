#!/usr/bin/python3 -B
"""stale-writer.py - a holder that comes too late is refused by the resource itself.

    examples/stale-writer.py file|sqlite|redis|zookeeper|postgres|mariadb [--unfenced]

A takes a lock, claims the resource and reads it.  Then A is stopped, with SIGSTOP, until it has lost
the lock.  B takes over, claims, reads and writes.  A goes on, knows of nothing, and writes: the resource
refuses it, because B has been there with a higher token.  With --unfenced nobody checks a token, and A
overwrites B's work.

All of A is stopped, as if its machine had paused: its command, and `holdfast` with its guardian, which
would otherwise end the command in time.  For the same reason the command is continued a moment before
the others: after a real pause either may be first.

The lock is where the resource is: on a server with a lease of 2 s.  For a file and SQLite it is in a
file.  There the kernel knows that A is alive, so A would keep the lock for as long as it is stopped, and
`holdfast break` takes it away, as a person might.

Every server is started on 127.0.0.1 in a temporary folder; all but Redis by the modules of test/server,
so these need the source tree.  docs/fencing.md explains the recipes.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILT = ROOT / "build/holdfast"
HOLDFAST = os.environ.get("HOLDFAST") or (str(BUILT) if BUILT.exists() else "holdfast")
LOCK = "report"
LIMIT = 30  # seconds for anything


class Refused(Exception):
    """By the resource: the token is stale."""


def call(argv, stale, **more):
    """The output of a program; Refused if it fails and says `stale`."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, check=False, **more)
    said = (done.stdout + done.stderr).strip()
    if done.returncode != 0 and stale in said:
        raise Refused(next(line for line in said.splitlines() if stale in line))
    if done.returncode != 0:
        raise SystemExit(f"{argv}: {said}")
    return done.stdout


# ---- Resources: a report that says "old" at first -------------------------------------------
#
# open() starts what is needed and returns (the URL for locks, where the report is).  claim_and_read()
# and write() raise Refused; the token is None if nobody is to check it.


class File:
    claims = True
    says = "the lock is in a file, where A would keep it: `holdfast break` takes it away"

    @staticmethod
    @contextlib.contextmanager
    def open(folder):
        path = folder / "report.txt"
        path.write_text("old")
        yield f"sqlite:{folder}/locks.db", str(path)

    def __init__(self, where):
        self.path = where

    def fence(self, token, *command):
        call([HOLDFAST, "fence", "--token", str(token), self.path, *command], "is stale")

    def claim_and_read(self, token):
        if token:
            self.fence(token)
        return pathlib.Path(self.path).read_text()

    def write(self, token, text):
        if token:
            self.fence(token, "--", "sh", "-c", 'printf %s "$1" >"$2"', "sh", text, self.path)
        else:
            pathlib.Path(self.path).write_text(text)


class SQLite(File):
    CLAIM = ("INSERT INTO fence VALUES ('report', ?) "
             "ON CONFLICT (name) DO UPDATE SET token = excluded.token")

    @staticmethod
    @contextlib.contextmanager
    def open(folder):
        with contextlib.closing(sqlite3.connect(folder / "data.db")) as db:
            db.executescript("""
                CREATE TABLE report AS SELECT 'old' AS body;
                CREATE TABLE fence (name TEXT PRIMARY KEY, token INTEGER NOT NULL);
                CREATE TRIGGER fence_rises BEFORE UPDATE ON fence WHEN NEW.token < OLD.token
                BEGIN
                    SELECT RAISE(ABORT, 'stale token: a later holder has been here');
                END""")
        yield f"sqlite:{folder}/locks.db", str(folder / "data.db")

    def transaction(self, token, statement, *values):
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
                if token:
                    db.execute(self.CLAIM, [token])
                rows = db.execute(statement, values).fetchall()
                db.execute("COMMIT")
                return rows
            except sqlite3.IntegrityError as error:
                raise Refused(error) from error

    def claim_and_read(self, token):
        return self.transaction(token, "SELECT body FROM report")[0][0]

    def write(self, token, text):
        self.transaction(token, "UPDATE report SET body = ?", text)


class Redis:
    claims = True
    says = "A no longer renews its lease on the server, and the lease expires"
    SCRIPT = """
        local token, seen = ARGV[1], redis.call('GET', KEYS[1]) or '0'
        if #token < #seen or (#token == #seen and token < seen) then
            return redis.error_reply('STALE token ' .. token .. ': ' .. seen .. ' has been here')
        end
        redis.call('SET', KEYS[1], token)
        if ARGV[2] then
            redis.call('SET', KEYS[2], ARGV[2])
        end
        return redis.call('GET', KEYS[2])"""

    @staticmethod
    @contextlib.contextmanager
    def open(folder):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                                   "--dir", str(folder)], stdout=subprocess.DEVNULL)
        try:
            until("Redis serves", lambda: subprocess.run(
                ["redis-cli", "-p", str(port), "SET", "{report}", "old"], capture_output=True,
                check=False).stdout == b"OK\n")
            yield f"redis://127.0.0.1:{port}?ttl=2s", str(port)
        finally:
            server.kill()
            server.wait()

    def __init__(self, where):
        self.cli = ["redis-cli", "-e", "-p", where]

    def claim_and_read(self, token, *text):
        keys = ["2", "{report}:mark", "{report}"]
        fenced = ["EVAL", self.SCRIPT, *keys, str(token), *text]
        return call([*self.cli, *(fenced if token else ["GET", "{report}"])], "STALE").strip()

    def write(self, token, text):
        if token:
            self.claim_and_read(token, text)
        else:
            call([*self.cli, "SET", "{report}", text], "STALE")


class ZooKeeper:
    claims = False  # the lock's own node is the mark
    says = Redis.says

    @staticmethod
    @contextlib.contextmanager
    def open(folder):
        with server_module("zookeeper").standalone(tick=200) as cluster:
            with connected(cluster.address) as zk:
                zk.create("/report-data", b"old")
            yield f"zk://{cluster.address}?session=2s", cluster.address

    def __init__(self, where):
        self.where = where

    def claim_and_read(self, token):
        with connected(self.where) as zk:
            return zk.get("/report-data")[0].decode()

    def write(self, token, text):
        """The lock's own node must be there: it has the token as its number of creation."""
        with connected(self.where) as zk:
            places = [f"/{LOCK}/{name}" for name in zk.get_children(f"/{LOCK}")]
            place = next((path for path in places if zk.get(path)[1].czxid == token), f"/{LOCK}/gone")
            step = zk.transaction()
            if token:
                step.check(place, -1)
            step.set_data("/report-data", text.encode())
            if any(isinstance(result, Exception) for result in step.commit()):
                raise Refused(f"the place with token {token} is gone")


class Postgres:
    claims = True
    says = Redis.says

    @staticmethod
    @contextlib.contextmanager
    def open(folder):
        with server_module("postgres").standalone() as server:
            call([HOLDFAST, "init", "--url", server.url], "nothing")
            call(["psql", "-q", server.url], "nothing", input="CREATE TABLE report AS SELECT 'old' AS body")
            mark = "&" if "?" in server.url else "?"
            yield f"{server.url}{mark}ttl=2s", server.url

    def __init__(self, where):
        self.where = where

    def transaction(self, token, statement, text=""):
        fence = f"SELECT holdfast.fence('{LOCK}', :token) \\g /dev/null\n" if token else ""
        return call(["psql", "-qAt", "-v", "ON_ERROR_STOP=1", "-v", f"token={token}", "-v", f"text={text}",
                     self.where], "is stale", input=f"BEGIN;\n{fence}{statement};\nCOMMIT;\n").strip()

    def claim_and_read(self, token):
        return self.transaction(token, "SELECT body FROM report")

    def write(self, token, text):
        self.transaction(token, "UPDATE report SET body = :'text'", text)


class MariaDB(Postgres):
    @staticmethod
    @contextlib.contextmanager
    def open(folder):
        with server_module("mariadb").standalone() as server:
            call([HOLDFAST, "init", "--url", server.url], "nothing")
            MariaDB(server.url).transaction(None, "CREATE TABLE report (body TEXT) AS SELECT 'old' AS body")
            mark = "&" if "?" in server.url else "?"
            yield f"{server.url}{mark}ttl=2s", server.url

    def transaction(self, token, statement, text=""):
        to = urllib.parse.urlsplit(self.where)
        fence = f"CALL hf_check_fence('{LOCK}', {token});\n" if token else ""
        return call(["mariadb", "--no-defaults", "-BN", "-h", to.hostname, "-P", str(to.port), "-u", to.username,
                     "--init-command", f"SET @text = '{text}'", to.path[1:]], "is stale",
                    env=dict(os.environ, MYSQL_PWD=to.password),
                    input=f"START TRANSACTION;\n{fence}{statement};\nCOMMIT;\n").strip()

    def write(self, token, text):
        self.transaction(token, "UPDATE report SET body = @text", text)


RESOURCES = {"file": File, "sqlite": SQLite, "redis": Redis, "zookeeper": ZooKeeper, "postgres": Postgres,
             "mariadb": MariaDB}


def server_module(name):
    sys.path.insert(0, str(ROOT / "test/server"))
    return __import__(name)


@contextlib.contextmanager
def connected(address):
    from kazoo.client import KazooClient
    zk = KazooClient(address)
    zk.start()
    try:
        yield zk
    finally:
        zk.stop()
        zk.close()


# ---- The holders ----------------------------------------------------------------------------


def until(what, condition):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"in vain: {what}")
        time.sleep(0.01)


def work(resource, where, name, folder, fenced):
    """What A and B do under the lock.  A waits before it writes."""
    number = int(os.environ["HOLDFAST_TOKEN"])
    token = number if fenced else None
    data = RESOURCES[resource](where)
    claims = "claims and reads" if token and data.claims else "reads"
    print(f"{name} has the lock, with token {number}; {claims}: {data.claim_and_read(token)!r}", flush=True)
    if name == "A":
        folder.joinpath("A").write_text(f"{os.getpid()} {os.getppid()} ")
        until("A may go on", folder.joinpath("go").exists)
    try:
        data.write(token, f"by {name}")
        print(f"{name} writes 'by {name}'", flush=True)
    except Refused as why:
        print(f"{name} writes 'by {name}', and is refused: {why}", flush=True)
    folder.joinpath(f"{name}.done").touch()


def start(resource, where, url, name, folder, fenced):
    own = [sys.executable, "-B", str(pathlib.Path(__file__).resolve()), "--work", resource, where, name,
           str(folder), str(int(fenced))]
    return subprocess.Popen([HOLDFAST, "run", "-q", LOCK, "--", *own], env=dict(os.environ, HOLDFAST_URL=url),
                            stderr=subprocess.DEVNULL if name == "A" else None)


def let_a_go_on(folder, pids):
    """Its command first: see above."""
    folder.joinpath("go").touch()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
        until("A has tried to write", folder.joinpath("A.done").exists)


def show(resource, folder, fenced):
    kind = RESOURCES[resource]
    with kind.open(folder) as (url, where), contextlib.ExitStack() as started:
        a = start(resource, where, url, "A", folder, fenced)
        started.callback(a.terminate)
        ready = folder / "A"
        until("A has read", lambda: ready.exists() and ready.read_text().endswith(" "))
        command, guardian = map(int, ready.read_text().split())
        started.callback(let_a_go_on, folder, (command, guardian, a.pid))
        for pid in (guardian, a.pid, command):
            os.kill(pid, signal.SIGSTOP)
        print(f"A is stopped; {kind.says}", flush=True)
        if url.startswith("sqlite:"):
            subprocess.run([HOLDFAST, "break", "--yes", "--url", url, LOCK], check=True, timeout=LIMIT,
                           stderr=subprocess.DEVNULL)
        b = start(resource, where, url, "B", folder, fenced)
        started.callback(b.terminate)
        b.wait(LIMIT)
        print("A goes on", flush=True)
        let_a_go_on(folder, (command, guardian, a.pid))
        print(f"A's `holdfast run` exits with {a.wait(LIMIT)}: the lock was lost", flush=True)
        end = kind(where).claim_and_read(None)
    print(f"at the end there is {end!r}{'' if end == 'by B' else ', and the work of B is lost'}")
    return 0 if end == ("by B" if fenced else "by A") else 1


def main(argv):
    if argv[:1] == ["--work"]:
        return work(argv[1], argv[2], argv[3], pathlib.Path(argv[4]), argv[5] == "1")
    names = [word for word in argv if word in RESOURCES]
    if len(names) != 1 or not set(argv) <= {*names, "--unfenced"}:
        print(f"usage: stale-writer.py {'|'.join(RESOURCES)} [--unfenced]", file=sys.stderr)
        return 64
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stale-writer."))
    try:
        return show(names[0], folder, "--unfenced" not in argv)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
