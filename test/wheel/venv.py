#!/usr/bin/env -S /usr/bin/python3 -B
"""venv.py - the wheel of `make wheel` in a fresh venv, without an index and without our library.

    test/wheel/venv.py BUILD             as every test gets it; what is tried is build-wheel/*.whl

Skipped if that is not built.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/server"))
import mariadb  # noqa: E402
import postgres  # noqa: E402
import redis  # noqa: E402
import zookeeper  # noqa: E402

LIMIT = 120
STORES = "sqlite system memory zk zks redis rediss redis+unix redis+sentinel postgres postgresql mariadb mysql"
CASES = []
TRY = """
import holdfast, subprocess, sys
url, command = sys.argv[1:]
with holdfast.Lock("job", url=url) as lock:
    assert lock.token > 0
    assert subprocess.run([command, "try", "--url", url, "job", "true"], stderr=-3).returncode == 75
assert subprocess.run([command, "run", "--url", url, "job", "true"]).returncode == 0
"""
SQLITE = """
import holdfast, os, sqlite3, subprocess, sys
path, command = sys.argv[1:]
url = f"sqlite:{path}"
with holdfast.Lock("job", url=url):
    log = os.stat(f"{path}-wal").st_ino
    for database, uri in ((path, False), (f"file:{path}?mode=ro", True)):
        other = sqlite3.connect(database, uri=uri)
        assert other.execute("SELECT count(*) FROM place").fetchone() == (1,)
        other.close()
        assert os.stat(f"{path}-wal").st_ino == log, "the log was deleted"
        assert subprocess.run([command, "try", "--url", url, "job", "true"], stderr=-3).returncode == 75
        assert holdfast.Lock("other", url=url).acquire(timeout=10)
"""
GUARDIAN = """
import holdfast, os, sys
client = holdfast.Client(sys.argv[1], guardian=True, ttl=60)
holdfast.Lock("job", client=client).acquire()
os.kill(os.getpid(), 9)
"""


def case(function):
    CASES.append(function)
    return function


class Venv:
    """As a user has one; nothing of this tree, or of an installed library, is found."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": folder, "HF_TEST_MARK": os.environ.get("HF_TEST_MARK", "")}
        self.call("/usr/bin/python3", "-m", "venv", "--without-pip", self.folder / "venv")
        self.pip("-q", "install", "--no-index", WHEEL)

    def call(self, *argv, code=0):
        done = subprocess.run(argv, env=self.env, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=LIMIT)
        assert done.returncode == code, f"{argv[:3]}: {done.returncode} {done.stdout}"
        return done.stdout

    def pip(self, *args):
        """Debian's, on the venv: to install another pip there takes longer than all the rest."""
        return self.call("/usr/bin/python3", "-m", "pip", "--disable-pip-version-check", "--python",
                         self.folder / "venv/bin/python", *args)

    @property
    def command(self):
        return self.folder / "venv/bin/holdfast"

    def python(self, script, *args, **more):
        return self.call(self.folder / "venv/bin/python", "-c", script, *args, **more)


@case
def library_and_command_are_its_own(venv):
    path = venv.python("import holdfast._library as l, holdfast; print(holdfast._c.lib._name)").strip()
    assert path.startswith(str(venv.folder)), path
    for file in (path, venv.command):
        needed = subprocess.run(["readelf", "-dW", file], check=True, stdout=subprocess.PIPE, text=True).stdout
        assert set(re.findall(r"\(NEEDED\).*\[(.*)\]", needed)) <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}, needed
    assert STORES in venv.call(venv.command, "version")


@case
def symbols_match_the_tag(venv):
    allowed = int(re.search(r"manylinux_2_(\d+)_", WHEEL.name)[1])
    for file in (venv.python("import holdfast; print(holdfast._c.lib._name)").strip(), venv.command):
        text = subprocess.run(["readelf", "-VW", file], check=True, stdout=subprocess.PIPE, text=True).stdout
        assert max(map(int, re.findall(r"GLIBC_2\.(\d+)", text))) <= allowed, file


@case
def pip_knows_it(venv):
    venv.pip("check")
    shown = venv.pip("show", "-f", "holdfast")
    assert "bin/holdfast\n" in shown and "holdfast/libholdfast.so" in shown, shown


@case
def the_file_store(venv):
    venv.python(TRY, f"sqlite:{venv.folder}/locks.db", venv.command)


@case
def sqlite3_opens_the_lock_file_in_the_same_process(venv):
    """It has another SQLite than the wheel."""
    venv.python(SQLITE, f"{venv.folder}/two.db", venv.command)


@case
def redis_server(venv):
    with redis.standalone() as server:
        venv.python(TRY, f"redis://{server.address}", venv.command)
        venv.python(GUARDIAN, f"redis://{server.address}", code=-9)
        venv.call(venv.command, "run", "-w", "20", "--url", f"redis://{server.address}", "job", "true")


@case
def redis_server_by_tls(venv):
    with redis.standalone(tls=True) as server:
        venv.python(TRY, f"rediss://{server.tls_address}?ca={server.tls['ca']}", venv.command)


@case
def zookeeper_server(venv):
    with zookeeper.standalone() as cluster:
        venv.python(TRY, f"zk://{cluster.address}", venv.command)


@case
def postgres_server(venv):
    with postgres.standalone() as server:
        venv.python(TRY, server.url, venv.command)


@case
def mariadb_server(venv):
    """By TLS as well: the system's OpenSSL is loaded also for a password alone."""
    with mariadb.standalone(tls="want") as server:
        venv.python(TRY, server.url, venv.command)
        venv.python(TRY, f"{server.url}?ca={server.tls['ca']}", venv.command)


def main():
    failed = 0
    print(f"1..{len(CASES)}")
    with tempfile.TemporaryDirectory(prefix="hf-wheel-") as folder:
        venv = Venv(folder)
        for number, function in enumerate(CASES, 1):
            try:
                function(venv)
                print(f"ok {number} - {function.__name__}", flush=True)
            except (redis.Missing, zookeeper.Missing, postgres.Missing, mariadb.Missing) as missing:
                print(f"ok {number} - {function.__name__} # SKIP {missing}", flush=True)
            except Exception as fault:  # whatever it was, the others are tried
                failed += 1
                print(f"not ok {number} - {function.__name__}\n# {type(fault).__name__} {fault}", flush=True)
    return 1 if failed else 0


FOUND = sorted((ROOT / "build-wheel").glob("*.whl"))
if not FOUND:
    print("# SKIP there is no build-wheel/*.whl: make wheel")
    sys.exit(77)
WHEEL = FOUND[0]
sys.exit(main())
