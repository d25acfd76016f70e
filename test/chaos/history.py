"""history - a Python process writes down its turns on locks; README.md has the format.

One clock for all: CLOCK_BOOTTIME.  A line is written at once, so a process that is killed leaves whole
lines.
"""
import json
import os
import time

NEVER = 2**63 - 1


def now(clock=time.CLOCK_BOOTTIME):
    return time.clock_gettime_ns(clock)


class History:
    """`turn`: who and n of what is written; empty for faults."""
    clock = time.CLOCK_BOOTTIME

    def __init__(self, path, **turn):
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self.turn = turn

    def put(self, event):
        os.write(self.fd, (json.dumps(event) + "\n").encode())

    def add(self, event, **more):
        self.put({"t": now(self.clock), "e": event} | self.turn | more)

    def want(self, lock="a", weight=1, capacity=1):
        self.add("want", lock=lock, weight=weight, capacity=capacity)

    def grant(self, token=None, deadline=None):
        self.add("grant", token=token, deadline=deadline, requeued=False)

    def act(self):
        """It acts as the holder."""
        self.add("last", last=now(self.clock), deadline=None)

    def release(self, begun=None, result=None):
        """`begun` None: with the last action."""
        self.add("release", begun=begun, result=result)
