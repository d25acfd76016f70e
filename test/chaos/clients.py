"""clients - the workers of `make chaos`, and what can happen to them.

A Worker is a place for processes that follow each other: w1, then w1.2 when w1 was killed.  Its
faults are functions like those of servers.py.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
import sandbox  # noqa: E402

MARK = "HF_CHAOS_WHO"  # in the environment of all that a worker starts
FREEZERS = [(pathlib.Path("/sys/fs/cgroup/freezer"), "freezer.state", "FROZEN", "THAWED"),
            (pathlib.Path("/sys/fs/cgroup"), "cgroup.freeze", "1", "0")]


def marked(who):
    """{pid: name} of all processes of a worker."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={who}\0".encode() in (path / "environ").read_bytes():
                state = (path / "stat").read_text().rpartition(")")[2].split()[0]
                if state not in "ZX":
                    found[int(path.name)] = (path / "comm").read_text().strip()
    return found


def send(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


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
    """`style`: see worker.c; `program`: its path, in a build tree; `proxy`: or None."""

    def __init__(self, name, style, program, store, folder, dice, history, proxy):
        self.name, self.style, self.program, self.store = name, style, program, store
        self.folder, self.dice, self.history, self.proxy = folder, dice, history, proxy
        self.count, self.process, self.who, self.killed = 0, None, None, False
        self.freezer = Freezer(f"hf-chaos-{os.getpid()}-{name}")
        self.url = store.url(proxy.addresses if proxy else store.addresses)

    def start(self):
        self.count += 1
        self.who = self.name if self.count == 1 else f"{self.name}.{self.count}"
        self.killed = False
        holdfast = self.program.parents[2] / "holdfast"
        argv = [self.program, "turns", self.url, self.who, self.folder, self.dice.getrandbits(31),
                self.style, holdfast]
        with open(self.folder / f"{self.who}.err", "wb") as errors:
            self.process = subprocess.Popen(
                sandbox.dying_with_us([str(word) for word in argv]), stdin=subprocess.DEVNULL,
                stderr=errors, env=os.environ | {MARK: self.who, "ASAN_OPTIONS": "detect_leaks=0"})

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
        name = f"{self.who}.command.jsonl" if self.style == "run" else f"{self.who}.jsonl"
        with contextlib.suppress(OSError, ValueError, IndexError), open(self.folder / name, "rb") as file:
            file.seek(-min(os.fstat(file.fileno()).st_size, 512), os.SEEK_END)
            return json.loads(file.read().split(b"\n")[-2])["e"] in ("grant", "write")
        return False

    # ---- Faults

    def faults(self):
        if self.style == "run":
            return {"run-killed": lambda: self.strike("holdfast", signal.SIGKILL),
                    "run-guardian-killed": lambda: self.strike("hf-guardian", signal.SIGKILL),
                    "run-command-killed": lambda: self.strike("worker", signal.SIGKILL),
                    "run-stopped": lambda: self.strike("holdfast", signal.SIGSTOP)}
        own = {"killed": self.kill, "stopped": self.stop}
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

    def strike(self, name, number):
        """A process that it started, by its name; False: there is none now."""
        found = [pid for pid, called in marked(self.who).items()
                 if called == name and pid != self.process.pid]
        if not found:
            return False
        pid = self.dice.choice(sorted(found))
        send(pid, number)
        return (self.pause(), lambda: send(pid, signal.SIGCONT)) if number == signal.SIGSTOP else None

    def remove(self):
        """For good."""
        if self.running():
            self.kill()
        if self.freezer.usable:
            self.freezer.remove()
