"""clients - the workers of `make chaos`, and what can happen to them.

A Worker is a place for processes that follow each other: w1, then w1.2 when w1 was killed.  Its
faults are functions like those of servers.py.
"""
import contextlib
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
import fake_clock  # noqa: E402
import memory_group  # noqa: E402
import sandbox  # noqa: E402
from server_process import Missing  # noqa: E402

MARK = "HF_CHAOS_WHO"  # in the environment of all that a worker starts
RUN = os.getpid()  # several runs may go on beside each other, with workers of the same names
FREEZERS = [(pathlib.Path("/sys/fs/cgroup/freezer"), "freezer.state", "FROZEN", "THAWED"),
            (pathlib.Path("/sys/fs/cgroup"), "cgroup.freeze", "1", "0")]


def marked(who):
    """{pid: name} of all processes of a worker."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={RUN}.{who}\0".encode() in (path / "environ").read_bytes():
                state = (path / "stat").read_text().rpartition(")")[2].split()[0]
                if state not in "ZX":
                    found[int(path.name)] = (path / "comm").read_text().strip()
    return found


def send(pid, number):
    """False: it is gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def missing():
    """What this machine does not permit: lines that say so."""
    if (why := memory_missing()) is not None:
        yield f"no out-of-memory kills: {why}"
    if shutil.which("cc") is None:
        yield "no clock steps: no cc here"


@functools.cache
def memory_missing():
    try:
        with memory_group.MemoryGroup():
            return None
    except Missing as why:
        return str(why)


def starve(pid):
    """An out-of-memory kill of this process alone.  False: it is gone already, or was None."""
    if pid is None:
        return False
    with memory_group.MemoryGroup() as group:
        return None if group.starve(pid) else False


def make_clock(folder, name):
    """None: see missing()."""
    try:
        return fake_clock.Clock(folder, name)
    except fake_clock.Missing:
        return None


def step(clock, dice, direction):
    """Set a clock by less than a lease, or by more: 1 or -1, forward or back."""
    clock.step(clock.ahead + direction * dice.choice([0.5, 3, 3600, 86400]))


class Freezer:
    """A control group for one process; `usable` if this machine lets us."""

    def __init__(self, name):
        self.folder, self.usable = None, False
        for base, self.file, self.frozen, self.thawed in FREEZERS:
            self.folder = base / name
            with contextlib.suppress(OSError):
                self.folder.mkdir()
                self.usable = (self.folder / self.file).exists()
                if self.usable:
                    return
                self.folder.rmdir()

    def freeze(self, pid):
        (self.folder / "cgroup.procs").write_text(str(pid))
        (self.folder / self.file).write_text(self.frozen)

    def thaw(self):
        (self.folder / self.file).write_text(self.thawed)

    def remove(self):
        """When its processes are gone."""
        end = time.monotonic() + 5
        while self.usable and time.monotonic() < end:
            try:
                self.folder.rmdir()
                return
            except OSError:
                time.sleep(0.02)


class Worker:
    """`style`, `workload`: see worker.c; `programs`: paths in build trees, of which each process uses one; `proxy`:
    or None."""

    def __init__(self, name, style, programs, store, folder, dice, history, proxy, workload):
        self.name, self.style, self.programs, self.store = name, style, programs, store
        self.folder, self.dice, self.history, self.proxy, self.workload = folder, dice, history, proxy, workload
        self.count, self.process, self.who, self.killed = 0, None, None, False
        self.freezer = Freezer(f"hf-chaos-{os.getpid()}-{name}")
        self.clock = make_clock(folder, f"{name}.clock")
        addresses, self.inside = store.place(name)
        self.url = store.url(proxy.addresses if proxy else addresses)

    def start(self):
        self.count += 1
        self.who = self.name if self.count == 1 else f"{self.name}.{self.count}"
        self.killed = False
        program = self.dice.choice(self.programs)
        holdfast = program.parents[2] / "holdfast"
        argv = [program, "turns", self.url, self.who, self.folder, self.dice.getrandbits(31),
                self.style, holdfast, self.workload]
        self.history.add("build", who=self.who, program=str(program))
        env = {MARK: f"{RUN}.{self.who}", "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
        with open(self.folder / f"{self.who}.err", "wb") as errors:
            self.process = subprocess.Popen(
                self.inside + sandbox.dying_with_us([str(word) for word in argv]),
                stdin=subprocess.DEVNULL, stderr=errors,
                env=os.environ | env | (self.clock.env if self.clock else {}))

    def running(self):
        return self.process is not None and self.process.poll() is None

    def ended(self):
        """Called when it does not run: write that down, and whether it was our doing."""
        status = self.process.returncode
        self.history.add("end", who=self.who, status=status)
        if status != (-signal.SIGKILL if self.killed else 0):
            said = (self.folder / f"{self.who}.err").read_text(errors="replace").strip()
            self.history.add("crash", who=self.who, status=status, said=said[-2000:])
        self.process = None

    def holds(self):
        """Does it hold a lock, as far as its history says?"""
        last = self.last_event("jsonl")
        if self.style == "run":
            return last.get("e") == "want" and self.last_event("command.jsonl").get("n") == last["n"]
        return last.get("e") in ("grant", "write")

    def last_event(self, ending):
        with contextlib.suppress(OSError, ValueError, IndexError), \
                open(self.folder / f"{self.who}.{ending}", "rb") as file:
            file.seek(-min(os.fstat(file.fileno()).st_size, 512), os.SEEK_END)
            return json.loads(file.read().split(b"\n")[-2])
        return {}

    # ---- Faults

    def faults(self):
        own = {}
        if self.clock is not None:
            own = {"clock-forward": lambda: step(self.clock, self.dice, 1),
                   "clock-back": lambda: step(self.clock, self.dice, -1)}
        if self.style == "run":
            own |= {"run-killed": lambda: self.strike("holdfast", signal.SIGKILL),
                    "run-guardian-killed": lambda: self.strike("hf-guardian", signal.SIGKILL),
                    "run-command-killed": lambda: self.strike("worker", signal.SIGKILL),
                    "run-stopped": lambda: self.strike("holdfast", signal.SIGSTOP)}
            if memory_missing() is None:
                own["run-out-of-memory"] = lambda: starve(self.child("holdfast"))
            return own
        own |= {"killed": self.kill, "stopped": self.stop}
        if memory_missing() is None:
            own["out-of-memory"] = self.starve
        if self.freezer.usable:
            own["frozen"] = self.freeze
        if self.style == "guarded" and self.store.server is not None:
            own["guardian-killed"] = lambda: self.strike("hf-guardian", signal.SIGKILL)
        return own

    def pause(self):
        """Seconds: shorter than the lease, or longer."""
        return self.store.ttl * self.dice.choice([0.1, 0.3, 0.6, 1.2, 1.6, 2.5])

    def kill(self):
        self.killed = True
        send(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        pid = self.process.pid
        send(pid, signal.SIGSTOP)
        return self.pause(), lambda: send(pid, signal.SIGCONT)

    def freeze(self):
        self.freezer.freeze(self.process.pid)
        return self.pause(), self.freezer.thaw

    def starve(self):
        self.killed = starve(self.process.pid) is None
        return None if self.killed else False

    def child(self, name):
        """A process that it started, by its name; or None."""
        found = [pid for pid, called in marked(self.who).items()
                 if called == name and pid != self.process.pid]
        return self.dice.choice(sorted(found)) if found else None

    def strike(self, name, number):
        """False: there is none now."""
        pid = self.child(name)
        if pid is None or not send(pid, number):
            return False
        return (self.pause(), lambda: send(pid, signal.SIGCONT)) if number == signal.SIGSTOP else None

    def remove(self):
        """For good."""
        if self.freezer.usable:
            self.freezer.thaw()  # a frozen process cannot die
        if self.running():
            self.kill()
        if self.freezer.usable:
            self.freezer.remove()
