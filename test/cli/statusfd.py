"""statusfd.py - reads the events of --status-fd, for tests.

    with reader(t, "hold", "a") as (process, lines):
        held = lines.next("held")
"""
import contextlib
import fcntl
import json
import os
import re
import select
import subprocess

from hf import LIMIT, Failure

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
FIELDS = {  # of each event besides time, event and name, in order
    "waiting": [], "place": ["ahead"], "failed": ["error", "text"],
    "held": ["token", "slot", "left_ms", "deadline"], "renewed": ["left_ms", "deadline"],
    "asked": ["reason"], "lost": ["why"], "released": ["error"],
}


class Lines:
    """What comes out of a descriptor, checked line by line against the protocol."""

    def __init__(self, t, fd):
        self.t, self.fd, self.rest = t, fd, b""

    def line(self):
        """One line; None at the end."""
        while b"\n" not in self.rest:
            if not select.select([self.fd], [], [], LIMIT)[0]:
                raise Failure(f"no line comes after {self.rest!r}")
            data = os.read(self.fd, 65536)
            if not data:
                self.t.equal(self.rest, b"", "half a line")
                return None
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        event = json.loads(line)
        self.t.equal(list(event), ["time", "event", "name", *FIELDS[event["event"]]], "fields")
        self.t.true(TIME.fullmatch(event["time"]), event["time"])
        return event

    def next(self, event):
        line = self.line()
        self.t.true(line is not None and line["event"] == event, f"{line}, not {event}")
        return line

    def all(self):
        """The events until the end."""
        found = []
        while line := self.line():
            found.append(line["event"])
        return found


@contextlib.contextmanager
def reader(t, verb, *args, full=False, **more):
    """`full`: nothing fits into the pipe, until drain() of the lines."""
    read_end, write_end = os.pipe()
    filler = 0
    if full:
        os.set_blocking(write_end, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                filler += os.write(write_end, b"\n" * fcntl.fcntl(write_end, fcntl.F_GETPIPE_SZ))
        os.set_blocking(write_end, True)
    more.setdefault("stdin", subprocess.PIPE)
    process = t.start(verb, "--status-fd", str(write_end), *args, pass_fds=[write_end], **more)
    os.close(write_end)
    lines = Lines(t, read_end)

    def drain():
        left = filler
        while left > 0:
            left -= len(os.read(read_end, left))
    lines.drain = drain
    try:
        yield process, lines
    finally:
        os.close(read_end)
