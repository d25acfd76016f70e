"""stamp - a holder that works: it writes a history of what it does, in the form of ../README.md.

    python3 stamp.py FILE WHO SECONDS       the command under `etcdctl lock`, flock(1) or `holdfast run`

"last" events are its stamps: one every 10 ms while it acts as the holder.  The clock is
CLOCK_MONOTONIC, which Java and Node have, too.
"""
import json
import os
import sys
import time

NEVER = 2**63 - 1
EVERY = 0.01  # seconds


class History:
    def __init__(self, path, who):
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.who = who

    def add(self, event, **more):
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        line = {"t": now, "who": self.who, "n": 1, "e": event, **more}
        os.write(self.fd, (json.dumps(line) + "\n").encode())
        return now

    def want(self):
        self.add("want", lock="a", weight=1, capacity=1)

    def grant(self, token=None):
        self.add("grant", token=token, requeued=False, deadline=NEVER)

    def release(self, result="0"):
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.add("release", begun=now, result=result)

    def work(self, seconds, step=lambda: True):
        """Act as the holder until the time is over, or step() says that the lock is lost."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and step():
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            self.add("last", last=now, deadline=NEVER)
            time.sleep(EVERY)


if __name__ == "__main__":
    history = History(sys.argv[1], sys.argv[2])
    token = os.environ.get("HOLDFAST_TOKEN")
    history.grant(int(token) if token else None)
    history.work(float(sys.argv[3]))
    history.release()
