"""stamp - a holder that works: it writes a history of what it does, in the form of ../README.md.

    python3 stamp.py FILE WHO       the command under `etcdctl lock`, flock(1) or `holdfast run`

"last" events are its stamps: one every 10 ms while it acts as the holder, until there is a file WHO.over
beside FILE.  Meanwhile it changes a set
without a fence: it reads the file a.set, pauses, and writes it back with one element more, again and again.
The clock is CLOCK_MONOTONIC, which Java and Node have, too.
"""
import os
import pathlib
import random
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from history import History  # noqa: E402

EVERY = 0.01  # seconds
PAUSE = 0.4  # seconds at most, between reading the set and writing it


class Holder(History):
    clock = time.CLOCK_MONOTONIC

    def __init__(self, path, who):
        super().__init__(path, who=who, n=1)
        folder = pathlib.Path(path).parent
        self.set, self.over, self.elements = folder / "a.set", folder / f"{who}.over", 0

    def work(self, step=lambda: True):
        """Act as the holder until the work is done, or step() says that the lock is lost."""
        while not self.over.exists() and step():
            text = self.set.read_text() if self.set.exists() else ""
            pause = time.monotonic() + random.uniform(0, PAUSE)
            while time.monotonic() < pause:
                self.act()
                time.sleep(EVERY)
                if not step():
                    return
            self.write_set(text)

    def write_set(self, text):
        self.elements += 1
        element = f"{self.turn['who']}/{self.elements}"
        new = self.set.with_suffix(f".{self.turn['who']}")
        new.write_text(f"{text}{element}\n")
        new.rename(self.set)
        self.add("add", lock="a", element=element, fenced=False, ok=True)
        self.act()


if __name__ == "__main__":
    holder = Holder(sys.argv[1], sys.argv[2])
    token = os.environ.get("HOLDFAST_TOKEN")
    holder.grant(int(token) if token else None)
    holder.work()
    holder.release()
