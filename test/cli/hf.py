"""hf.py - what the tests of the command share.

    from hf import *

    @case
    def exit_status_is_the_commands(t):
        t.equal(t.run("run", "a", "--", "sh", "-c", "exit 7").code, 7)

    main()

Each case has a store of its own in a new folder, and afterwards nothing may be
left: no lock, no process, no control group.
"""
import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HOLDFAST = os.path.abspath(os.environ.get("HOLDFAST", "build/holdfast"))
NEXT = os.path.join(os.path.dirname(HOLDFAST), "next/holdfast")  # cmake/Next.cmake: a later layout
LIMIT = 60  # seconds that anything may take at most
CASES = []
CHAOS = pathlib.Path(__file__).resolve().parent.parent / "chaos"  # its README.md: histories, and the checker


def case(function):
    CASES.append(function)
    return function


class Done:
    """How a command ended."""

    def __init__(self, process, out, err, seconds):
        self.code, self.out, self.err, self.seconds = process.returncode, out, err, seconds


class Failure(Exception):
    pass


class Skip(Exception):
    pass


class Test:
    def __init__(self, name):
        self.name = name
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hf-cli-"))
        self.mark = f"HF_CLI_CASE={self.folder}"
        self.env = dict(os.environ, HOLDFAST_URL=f"sqlite:{self.folder}/locks.db",
                        HF_CLI_CASE=str(self.folder), D=str(self.folder), HF=HOLDFAST)
        self.started = []

    # ---- Saying what should be

    def true(self, value, what):
        if not value:
            raise Failure(what)

    def equal(self, got, want, what=""):
        self.true(got == want, f"{what or 'value'}: {got!r}, not {want!r}")

    def contains(self, text, part):
        self.true(part in text, f"{part!r} is not in {text!r}")

    def lacks(self, text, part):
        at = text.find(part)
        self.true(at < 0, f"{part!r} is in ...{text[max(at - 99, 0):at + 99]!r}...")

    def one_line(self, text):
        self.true(text.startswith("holdfast: ") and text.count("\n") == 1 and text[-1] == "\n",
                  f"not one line of complaint: {text!r}")

    def until(self, what, condition, limit=LIMIT):
        """Poll until the condition holds; returns its value."""
        end = time.monotonic() + limit
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise Failure(f"waited in vain until {what}")
            time.sleep(0.005)

    def judge(self, folder):
        """The checker finds nothing wrong with the histories there."""
        done = subprocess.run([sys.executable, "-B", CHAOS / "check.py", folder], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.true(done.returncode == 0, done.stdout)

    # ---- Running things

    def start(self, *args, **more):
        """Start holdfast with these arguments, its output in pipes; `called` is its argv[0]."""
        more.setdefault("executable", HOLDFAST)
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        env = dict(self.env, **more.pop("env", {}))  # None: without that variable
        env = {name: value for name, value in env.items() if value is not None}
        begin = time.monotonic()
        process = subprocess.Popen([more.pop("called", HOLDFAST), *args], env=env, **more)
        process.begin = begin
        self.started.append(process)
        return process

    def finish(self, process, limit=LIMIT, data=None):
        out, err = process.communicate(input=data, timeout=limit)
        seconds = time.monotonic() - process.begin
        return Done(process, (out or b"").decode(), (err or b"").decode(errors="replace"), seconds)

    def run(self, *args, data=None, **more):
        if data is not None:
            more["stdin"] = subprocess.PIPE
        return self.finish(self.start(*args, **more), data=data)

    def path(self, name):
        return self.folder / name

    def hold(self, name, *options, script="sleep 1000"):
        """Start a run that holds `name` until ended; returns when it holds."""
        flag = self.path(f"held.{len(self.started)}")
        process = self.start("run", *options, name, "--", "sh", "-c", f"echo $$ >{flag}; {script}")
        self.until("the lock is held", lambda: flag.exists() and flag.read_text().strip())
        process.command = int(flag.read_text())
        return process

    def end(self, process, sig=signal.SIGTERM):
        process.send_signal(sig)
        return self.finish(process)

    def list(self):
        done = self.run("list", "--json")
        self.equal(done.code, 0, "exit code of list")
        return json.loads(done.out)

    def show(self, name):
        return json.loads(self.run("show", "--json", name).out)

    def waiting(self, name, count):
        self.until(f"{count} wait for {name}", lambda: len(self.show(name)["waiters"]) == count)

    # ---- Looking at processes

    def processes(self):
        """Everything alive that was started by this case: {pid: command line}."""
        found = {}
        for path in glob.glob("/proc/[0-9]*"):
            try:
                with open(f"{path}/environ", "rb") as file:
                    if self.mark.encode() not in file.read().split(b"\0"):
                        continue
                if state_of(int(path[6:])) in "ZX":
                    continue
                with open(f"{path}/cmdline", "rb") as file:
                    found[int(path[6:])] = file.read().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
        return found

    def guardian(self, process):
        """The guardian of a run: its only child."""
        pids = children_of(process.pid)
        self.equal(len(pids), 1, "children of holdfast")
        return pids[0]

    def nothing_left(self):
        self.until("no process is left", lambda: not self.processes())
        self.equal(self.list(), [], "locks left")

    def close(self):
        while left := self.processes():  # more than once: what is killed may have forked
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for process in self.started:
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def a_redis(t):
    """A server of this case alone; or it is skipped."""
    sys.path.insert(0, f"{sys.path[0]}/../server")  # before the redis that Debian has
    import redis  # pylint: disable=import-outside-toplevel
    if "redis" not in t.run("version").out.split():
        raise Skip("the store redis is not in this build")
    try:
        return redis.standalone()
    except redis.Missing as reason:
        raise Skip(reason) from None


def state_of(pid):
    """The letter ps shows: R, S, T, Z..."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def name_of(pid):
    """The name ps shows."""
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def run_case(number, function):
    name = function.__name__.replace("_", " ")
    test = Test(name)
    try:
        function(test)
        test.nothing_left()
        print(f"ok {number} - {name}", flush=True)
        return True
    except Skip as reason:
        print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        return True
    except (Failure, subprocess.TimeoutExpired, OSError, ValueError, KeyError, IndexError) as error:
        if "out of pty devices" in str(error):
            print(f"ok {number} - {name} # SKIP no pseudo-terminals here", flush=True)
            return True
        print(f"not ok {number} - {name}", flush=True)
        print(f"# {type(error).__name__}: {error}")
        for pid, command in list(test.processes().items())[:10]:
            print(f"# still there: {pid} {state_of(pid)} {command}")
        sys.stdout.flush()
        return False
    finally:
        test.close()


def main():
    words = [arg for arg in sys.argv[1:] if not arg.isdigit()]
    chosen = [c for c in CASES if not words or any(word in c.__name__ for word in words)]
    print(f"1..{len(chosen)}")
    results = [run_case(number, function) for number, function in enumerate(chosen, 1)]
    sys.exit(0 if all(results) else 1)
