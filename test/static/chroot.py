#!/usr/bin/env python3
"""chroot - the command of `make static` in a folder with nothing but itself and /tmp: no
libraries, no /proc, no /etc.

    test/static/chroot.py BUILD          as every test gets it; what is tried is build-static/holdfast and,
                                         under qemu, build-static-arm64/holdfast

Skipped if these are not built, or if this user may not chroot.
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/server"))
import mariadb  # noqa: E402
import redis  # noqa: E402
import zookeeper  # noqa: E402

LIMIT = 60
FILE = "sqlite:/tmp/locks.db"
CASES = []
NATIVE = []  # those that qemu cannot do: it starts no other program of its architecture


def case(function):
    CASES.append(function)
    return function


def native(function):
    NATIVE.append(function)
    return case(function)


class Cell:
    """The folder, and how a command is run in it.  `command` runs under a lock, and prints "holdfast"."""

    def __init__(self, folder, binary, qemu=None):
        self.folder = pathlib.Path(folder)
        (self.folder / "tmp").mkdir()
        shutil.copy(binary, self.folder / "holdfast")
        self.enter = [*([] if os.geteuid() == 0 else ["unshare", "--map-root-user"]), "chroot", folder]
        self.command = ["/holdfast", "version"]
        if qemu is not None:
            shutil.copy(qemu, self.folder / "qemu")
            shutil.copy(static_busybox(), self.folder / "busybox")
            self.enter.append("/qemu")
            self.command = ["/busybox", "echo", "holdfast"]

    def start(self, *argv):
        """Stdin stays open until the process is told otherwise."""
        return subprocess.Popen([*self.enter, "/holdfast", *argv], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={"PATH": os.environ["PATH"], "HF_TEST_MARK": os.environ.get("HF_TEST_MARK", "")})

    def run(self, *argv):
        process = self.start(*argv)
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out, err

    def runs(self, *argv):
        code, out, err = self.run(*argv)
        assert code == 0, f"{argv}: {code} {out}{err}"
        return out

    def fails(self, *argv):
        code, out, err = self.run(*argv)
        assert code != 0, f"{argv}: {out}{err}"
        return err

    def held(self, url, name):
        return f"{name} " in self.runs("list", "--url", url)


def static_busybox():
    busybox = shutil.which("busybox")
    if busybox is None or subprocess.run(["readelf", "-lW", busybox], stdout=subprocess.PIPE,
                                         check=True).stdout.count(b"INTERP"):
        raise redis.Missing("no static busybox here")
    return busybox


def soon(happened, what):
    end = time.monotonic() + LIMIT
    while not happened():
        assert time.monotonic() < end, f"not within {LIMIT} s: {what}"
        time.sleep(0.02)


def locks(cell, url):
    """A command under a lock, another one that has to wait, and what is shown of both."""
    out = cell.runs("run", "--url", url, "job", "--", *cell.command)
    assert out.startswith("holdfast"), out
    holder = cell.start("hold", "--url", url, "job")
    soon(lambda: cell.held(url, "job"), "the lock is held")
    code, _, err = cell.run("try", "--url", url, "job", "--", *cell.command)
    assert code != 0 and "job" in err, (code, err)
    waiter = cell.start("run", "--url", url, "job", "--", *cell.command)
    holder.communicate(timeout=LIMIT)  # its stdin ends: it gives the lock up
    assert holder.returncode == 0
    out, err = waiter.communicate(timeout=LIMIT)
    assert waiter.returncode == 0 and out.startswith("holdfast"), (out, err)
    assert not cell.held(url, "job")


@case
def it_is_one_file(cell):
    headers = subprocess.run(["readelf", "-lW", cell.folder / "holdfast"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    assert "INTERP" not in headers, headers
    out = cell.runs("version")
    assert all(f" {scheme}" in out for scheme in ("sqlite", "zk", "zks", "redis", "rediss", "mariadb", "mysql")), out
    assert "postgres" not in out and '"postgres:"' in cell.fails("list", "--url", "postgres://x")


@case
def the_file_store(cell):
    locks(cell, FILE)
    cell.runs("doctor", "--url", FILE)


@native
def holdfast_is_killed(cell):
    """The guardian works without /proc: it ends the command, and the next one starts."""
    first = cell.start("run", "--url", FILE, "killed", "--", "/holdfast", "hold", "--url", FILE, "inner")
    soon(lambda: cell.held(FILE, "inner"), "the command runs")
    first.send_signal(signal.SIGKILL)
    first.wait()
    cell.runs("run", "--url", FILE, "-w", "50s", "killed", "--", "/holdfast", "version")
    soon(lambda: not cell.held(FILE, "inner"), "the command is ended")


@case
def redis_server(cell):
    with redis.standalone() as server:
        locks(cell, f"redis://{server.address}")


@case
def redis_server_by_tls(cell):
    with redis.standalone(tls=True) as server:
        shutil.copy(server.tls["ca"], cell.folder / "tmp/ca.pem")
        locks(cell, f"rediss://{server.tls_address}?ca=/tmp/ca.pem")


@case
def zookeeper_server(cell):
    with zookeeper.standalone() as cluster:
        locks(cell, f"zk://{cluster.address}")


@case
def mariadb_server(cell):
    with mariadb.standalone(tls="want") as server:
        locks(cell, server.url)
        shutil.copy(server.tls["ca"], cell.folder / "tmp/ca.pem")
        locks(cell, f"{server.url}?ca=/tmp/ca.pem")


@case
def names_of_hosts(cell):
    """/etc/hosts is all that it takes; without it there is a clear message."""
    err = cell.fails("list", "--url", "redis://cache:1")
    assert "cannot be found: " in err, err
    (cell.folder / "etc").mkdir()
    (cell.folder / "etc/hosts").write_text("127.0.0.1 cache\n")
    err = cell.fails("list", "--url", "redis://cache:1")
    assert "connection refused" in err, err


@native
def leftovers_cannot_be_named(cell):
    """A process that has left its group is not found without /proc; the lock waits for it."""
    shutil.copy(static_busybox(), cell.folder / "busybox")
    (cell.folder / "dev").mkdir()
    (cell.folder / "dev/null").touch()  # its shell wants one
    first = cell.start("run", "--url", FILE, "left", "--", "/busybox", "sh", "-c",
                       f"exec 3<&0; /busybox setsid /holdfast hold --url {FILE} inner <&3 3<&- &")
    soon(lambda: cell.held(FILE, "inner"), "it runs")
    code, _, err = cell.run("try", "--url", FILE, "left", "--", "/holdfast", "version")
    assert code != 0, err
    told = iter(first.stderr.readline, "")  # to its end, if it does not tell
    assert any("left processes that /proc does not show" in line for line in told)
    first.communicate(timeout=LIMIT)  # stdin ends, and with it what was left
    assert first.returncode == 0
    assert not cell.held(FILE, "left")


def answer_as_dns(server):
    """Every name is 127.0.0.1."""
    while True:
        query, asker = server.recvfrom(512)
        end = query.index(b"\0", 12) + 5  # of the question
        found = query[end - 4:end - 2] == b"\0\1"  # an IPv4 address was asked for
        record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1" if found else b""
        server.sendto(query[:2] + b"\x81\x80\0\1\0" + bytes([found]) + b"\0\0\0\0" + query[12:end] + record,
                      asker)


def ask_dns(folder):
    """In a network of its own: where nobody else is at port 53."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    threading.Thread(target=answer_as_dns, args=[server], daemon=True).start()
    return subprocess.run(["chroot", folder, "/holdfast", "list", "--url", "redis://cache.example:1"],
                          check=False, timeout=LIMIT).returncode


@native
def names_by_dns(cell):
    (cell.folder / "etc").mkdir()
    (cell.folder / "etc/resolv.conf").write_text("nameserver 127.0.0.1\n")
    alone = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise redis.Missing("no networks of our own here")
    done = subprocess.run([*alone, sys.executable, __file__, "--ask-dns", cell.folder],
                          stderr=subprocess.PIPE, text=True, check=False, timeout=LIMIT)
    assert "cache.example:1 cannot be reached: connection refused" in done.stderr, done.stderr


def try_all(cells, first):
    """`cells`: [(name, function, arguments of Cell)].  How many failed; None: this user may not chroot."""
    failed = 0
    for number, (name, function, how) in enumerate(cells, first):
        with tempfile.TemporaryDirectory(prefix="static.") as folder:
            try:
                cell = Cell(folder, *how)
                code, _, err = cell.run("version")
                if code != 0 and "ermitted" in err:
                    return None
                function(cell)
                print(f"ok {number} - {name}", flush=True)
            except redis.Missing as missing:
                print(f"ok {number} - {name} # SKIP {missing}", flush=True)
            except Exception as fault:  # whatever it was, the others are tried
                failed += 1
                print(f"not ok {number} - {name}\n# {type(fault).__name__} {fault}", flush=True)
    return failed


def main():
    if sys.argv[1] == "--ask-dns":
        return ask_dns(sys.argv[2])
    cells = []
    if BINARY.exists():
        cells += [(function.__name__, function, (BINARY,)) for function in CASES]
    qemu = shutil.which("qemu-aarch64-static")
    if ARM64.exists() and qemu:
        cells += [(f"{function.__name__} on arm64", function, (ARM64, qemu))
                  for function in CASES if function not in NATIVE]
    if not cells:
        print(f"# SKIP {BINARY} is not there: make static")
        return 77
    print(f"1..{len(cells)}")
    failed = try_all(cells, 1)
    if failed is None:
        print("# SKIP this user may not chroot")
        return 77
    return 1 if failed else 0


BINARY = pathlib.Path(f"{ROOT / 'build'}-static/holdfast")
ARM64 = pathlib.Path(f"{ROOT / 'build'}-static-arm64/holdfast")
sys.exit(main())
