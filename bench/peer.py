"""peer - shared by the benchmarks: other programs to talk to, and servers on a disk."""
import contextlib
import pathlib
import select
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/server"))
import server_process  # noqa: E402
import sandbox  # noqa: E402
import mariadb  # noqa: E402
import postgres  # noqa: E402

DISK = "/var/tmp"  # survives a restart of the machine, so it is not in memory
PACKAGES = ["redlock@5.0.0-beta.2", "ioredis@5.11.1"]
# PostgreSQL's defaults, unlike the servers of the tests; except for many connections.
SHIPPED = {"max_connections": "500", "shared_buffers": "128MB", "max_wal_size": "1GB", "min_wal_size": "80MB",
           "wal_recycle": "on", "wal_init_zero": "on", "dynamic_shared_memory_type": "posix"}
MARIADB_SHIPPED = {"max-connections": "1000", "innodb-buffer-pool-size": "128M", "innodb-log-file-size": "96M",
                   "innodb-flush-method": "O_DIRECT"}


class Failed(Exception):
    """A program did not do what it should."""


TROUBLE = (Failed, server_process.Failed, server_process.Missing)


def file_system(path):
    """The kind of file system: "ext2/ext3", "tmpfs"."""
    done = subprocess.run(["stat", "-f", "-c", "%T", str(path)], text=True, capture_output=True,
                          check=True)
    return done.stdout.strip()


def disk():
    """A folder on a disk, so that a flush really writes."""
    kind = file_system(DISK)
    if kind in ("tmpfs", "ramfs"):
        raise Failed(f"{DISK} is in memory ({kind}): there is no disk to measure")
    return DISK


class Peer:
    """A program that answers each line on stdin with one on stdout."""

    def __init__(self, argv, **more):
        self.process = subprocess.Popen(sandbox.dying_with_us([str(arg) for arg in argv]),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def say(self, text):
        with contextlib.suppress(BrokenPipeError):  # hear() reports it
            self.process.stdin.write(text + "\n")

    def hear(self, limit=None):
        """The words of a line, within so many seconds."""
        if limit is not None and not select.select([self.process.stdout], [], [], limit)[0]:
            raise Failed(f"{self.process.args[-3:]} said nothing for {limit:.0f} s")
        said = self.process.stdout.readline().split()
        if not said:
            raise Failed(f"{self.process.args[-3:]} ended with {self.process.wait(10)}")
        return said

    def ask(self, text):
        self.say(text)
        return self.hear()


def medians(rounds):
    return {key: round(statistics.median(one[key] for one in rounds), 2) for key in rounds[0]}


def show_table(rows):
    """The first row is the heading; the first column has names."""
    widths = [max(len(row[i]) for row in rows) + 2 for i in range(len(rows[0]))]
    for row in rows:
        print(row[0].ljust(widths[0]) + "".join(c.rjust(w) for c, w in zip(row[1:], widths[1:])))


def install_redlock(folder):
    """None, or why redlock is missing."""
    if (pathlib.Path(folder) / "node_modules/redlock").exists():
        return None
    if shutil.which("npm") is None or shutil.which("node") is None:
        return "no node or npm here"
    argv = ["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts",
            "--silent", *PACKAGES]
    try:
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "npm install takes too long"
    said = (done.stdout + done.stderr).strip().splitlines()
    if done.returncode != 0:
        shutil.rmtree(pathlib.Path(folder) / "node_modules", ignore_errors=True)
    return None if done.returncode == 0 else f"npm install: {said[-1] if said else 'failed'}"


class Postgres(postgres.Server):
    """With default settings, its data on a disk or in memory; started, with a database for USER."""

    def __init__(self, on_disk=True):
        self.on_disk, self.disk = on_disk, None
        super().__init__(settings=SHIPPED)
        try:
            self.start()
            self.furnish()
        except BaseException:
            self.stop()
            raise

    def _make(self, copy_of):
        if not self.on_disk:
            return super()._make(copy_of)
        self.disk = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-pg.", dir=disk()))
        postgres.give_to_servant(self.disk)
        self.data = self.disk / "data"
        return super()._make(copy_of)

    def stop(self):
        super().stop()
        if self.disk is not None:
            shutil.rmtree(self.disk, ignore_errors=True)

    @property
    def conninfo(self):
        """By the Unix socket."""
        return f"host={self.socket} port={self.port} user={postgres.USER} dbname={self.database}"

    @property
    def unix_url(self):
        return (f"postgres:///{self.database}?host={self.socket}&port={self.port}"
                f"&user={postgres.USER}")


class MariaDb(mariadb.Server):
    """With default settings, its data on a disk or in memory; started, with a database for USER and for
    "bench", who has no password."""

    def __init__(self, on_disk=True):
        self.disk = None
        super().__init__(settings=MARIADB_SHIPPED | ({} if on_disk else {"innodb-flush-method": "fsync"}))
        try:
            if on_disk:
                self._move()
            self.start()
            self.furnish()
            self.sql("CREATE USER bench@'%'; GRANT ALL ON test.* TO bench@'%'")
        except BaseException:
            self.stop()
            raise

    def _move(self):
        """The data to a disk."""
        self.disk = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-mariadb.", dir=disk()))
        mariadb.give_to_servant(self.disk)
        mariadb.run_as_servant(["cp", "-rp", str(self.data), str(self.disk)], self.folder)
        shutil.rmtree(self.data)
        self.data = self.settings["datadir"] = self.disk / "data"

    def stop(self):
        super().stop()
        if self.disk is not None:
            shutil.rmtree(self.disk, ignore_errors=True)
