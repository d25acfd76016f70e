"""audit - do the data of a store agree with themselves, and is nothing left when the workers are gone?

Store.left() compares totals of lines with their places, places with their sessions, slots with their places:
all the time, and when the workers have ended.  Then somebody takes the whole of every lock, as soon as the
leases of dead workers are over.  Then there must be nothing.
"""
import subprocess

WHOLE = {"mutex": [], "other": [], "rw": ["-x"], "slots": ["--slots", "3", "--weight", "3"], "set": [],
         "fenced": []}  # of each lock of worker.c
LIMIT = 30  # seconds


class Looks:
    """While workers use the store: what is wrong twice running.  In between a client may be about to put it
    right; and not all that is compared is read at one moment."""

    def __init__(self, store):
        self.store, self.before, self.told = store, set(), set()

    def look(self):
        """Texts; each complaint only once, whatever stands behind its colon."""
        found = {}
        try:
            found = {text.partition(": ")[0]: text for text in self.store.left(empty=False)}
        except (OSError, RuntimeError, *self.store.errors):
            pass  # it does not serve now
        for what in sorted(found.keys() & self.before - self.told):
            self.told.add(what)
            yield found[what]
        self.before = set(found)


def audit(store, holdfast):
    """Texts: what is wrong."""
    yield from store.left(empty=False)
    addresses, inside = store.place("w1")
    common = [*inside, str(holdfast), "run", "-q", "-w", str(LIMIT), "--url", store.url(addresses)]
    takers = {lock: subprocess.Popen([*common, *words, lock, "--", "true"], stdin=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, text=True) for lock, words in WHOLE.items()}
    for lock, taker in takers.items():
        said = taker.communicate()[1].strip()
        if taker.returncode != 0:
            yield f'nobody gets all of "{lock}": {taker.returncode} {said}'
    yield from store.left(empty=True)
