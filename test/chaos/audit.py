"""audit - when the workers of `make chaos` are gone: is anything left in the store?

First what its data say is compared: totals of lines with their places, places with their sessions, slots with
their places.  Then somebody takes the whole of every lock, as soon as the leases of dead workers are over.
Then there must be nothing.
"""
import subprocess

WHOLE = {"mutex": [], "other": [], "rw": ["-x"], "slots": ["--slots", "3", "--weight", "3"], "set": [],
         "fenced": []}  # of each lock of worker.c
LIMIT = 30  # seconds


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
