"""peer - what the programs here share: other programs to talk to, servers on a disk."""
import contextlib
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/server"))
import place  # noqa: E402
import postgres  # noqa: E402

DISK = "/var/tmp"  # kept over a restart of the machine, so not in its memory
# What servers of tests have otherwise, as PostgreSQL is shipped.
SHIPPED = {"shared_buffers": "128MB", "max_wal_size": "1GB", "min_wal_size": "80MB",
           "wal_recycle": "on", "wal_init_zero": "on", "dynamic_shared_memory_type": "posix"}


class Failed(Exception):
    """A program did not do what it should."""


class Peer:
    """A program that answers each line on stdin by one on stdout."""

    def __init__(self, argv, **more):
        self.process = subprocess.Popen(place.dying_with_us([str(arg) for arg in argv]),
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
        with contextlib.suppress(BrokenPipeError):  # hear() tells of it
            self.process.stdin.write(text + "\n")

    def hear(self):
        said = self.process.stdout.readline().split()
        if not said:
            raise Failed(f"{self.process.args[-3:]} ended with {self.process.wait(10)}")
        return said

    def ask(self, text):
        self.say(text)
        return self.hear()


def cpu_us(pid):
    """Of the thread that was there first."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e3


def medians(rounds):
    return {key: round(statistics.median(one[key] for one in rounds), 2) for key in rounds[0]}


def ratio(found, ours, theirs):
    """How many of ours for one of theirs, in the same time."""
    return round(statistics.median(b["us"] / a["us"]
                                   for a, b in zip(found[ours], found[theirs])), 3)


class Postgres(postgres.Server):
    """As shipped, with its data on a disk; started, with a database for USER."""

    def __init__(self):
        self.disk = None
        super().__init__(settings=SHIPPED)
        try:
            self.start()
            self.furnish()
        except BaseException:
            self.stop()
            raise

    def _make(self, copy_of):
        self.disk = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-pg.", dir=DISK))
        postgres.give_to_servant(self.disk)
        self.data = self.disk / "data"
        super()._make(copy_of)

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
