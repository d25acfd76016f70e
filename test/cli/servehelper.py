"""servehelper.py - talks to `holdfast serve`, for tests.

    with helper(t) as h:
        lock = h.hold("a")
        h.call("release", lock=lock)
"""
import contextlib
import json
import os
import select
import subprocess

from hf import LIMIT, Failure

DEADLINE = ["left_ms", "deadline", "boottime_ms", "monotonic_ms"]
FIELDS = {  # of each event besides time and event, in order
    "hello": ["protocol", "version", "pid", "url", "limits"],
    "held": ["id", "lock", "name", "token", "slot", *DEADLINE],
    "failed": ["id", "error", "text"], "released": ["id", "lock", "name", "error"],
    "place": ["lock", "name", "ahead"], "renewed": DEADLINE, "asked": ["lock", "name", "reason"],
    "lost": ["lock", "name", "why"],
    "stats": ["id", "acquired", "busy", "timeouts", "canceled", "failed", "released", "lost", "broken", "connected",
              "sessions_lost", "renewals", "renewals_late", "least_left_ms", "wait", "hold", "round_trip"],
}


class Helper:
    def __init__(self, t, process):
        self.t, self.process, self.rest = t, process, b""
        self.ids, self.kept = 0, []  # kept: lines that a call skipped
        self.hello = self.next("hello")

    def line(self, limit=LIMIT):
        """One line from the pipe; None at the end."""
        fd = self.process.stdout.fileno()
        while b"\n" not in self.rest:
            if not select.select([fd], [], [], limit)[0]:
                raise Failure(f"no line comes after {self.rest[:200]!r}")
            data = os.read(fd, 1 << 20)
            if not data:
                self.t.equal(self.rest, b"", "half a line")
                return None
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        event = json.loads(line)
        if event["event"] in FIELDS:
            self.t.equal(list(event), ["time", "event", *FIELDS[event["event"]]], "members")
        return event

    def next(self, event=None, **members):
        """The first line with these members; others are kept for later calls."""
        for at, line in enumerate(self.kept):
            if matches(line, event, members):
                return self.kept.pop(at)
        while (line := self.line()) is not None:
            if matches(line, event, members):
                return line
            self.kept.append(line)
        raise Failure(f"the helper ended before {event} {members}")

    def all(self):
        """All lines until the end."""
        lines, self.kept = self.kept, []
        while (line := self.line()) is not None:
            lines.append(line)
        return lines

    def write(self, text):
        self.process.stdin.write(text.encode() if isinstance(text, str) else text)
        self.process.stdin.flush()

    def fill(self, request):
        """Write request(0), request(1)... and read nothing, until the helper reads no more.  Returns
        how many.  They must be short enough for a pipe to take each as a whole."""
        fd, count = self.process.stdin.fileno(), 0
        os.set_blocking(fd, False)
        while select.select([], [fd], [], 2)[1]:
            with contextlib.suppress(BlockingIOError):
                os.write(fd, request(count).encode())
                count += 1
        os.set_blocking(fd, True)
        return count

    def send(self, op, **members):
        """Returns the id."""
        self.ids += 1
        self.write(json.dumps({"id": self.ids, "op": op, **members}) + "\n")
        return self.ids

    def call(self, op, **members):
        """Returns the answer: the one line with the id, and no entry."""
        number = self.send(op, **members)
        while True:
            line = self.next(id=number)
            if line["event"] != "entry":
                return line

    def hold(self, name, **members):
        """Acquires it; returns the number of the lock."""
        line = self.call("acquire", name=name, **members)
        self.t.equal(line["event"], "held", f"answer {line}")
        return line["lock"]

    def end(self):
        """Closes stdin, and expects it to end well."""
        self.process.stdin.close()
        lines = self.all()
        self.t.equal(self.process.wait(LIMIT), 0, "exit status")
        return lines


def matches(line, event, members):
    return (event is None or line["event"] == event) and \
        all(key in line and line[key] == value for key, value in members.items())


@contextlib.contextmanager
def helper(t, *options, **more):
    more.setdefault("stderr", subprocess.DEVNULL)
    process = t.start("serve", "--stdio", *options, stdin=subprocess.PIPE, **more)
    yield Helper(t, process)
    if process.poll() is None:
        process.stdin.close()
        process.wait(LIMIT)
