#!/usr/bin/env -S python3 -B
"""crash.py - how long does a waiter wait if the holder dies and no process is left to tell the server?

    bench/crash.py [-s STORE]... [-b BUILD]

On every store, with its default lease and with one of 5 s: the minimum and maximum of three.  The holder
is a C program without a guardian, ended by kill -9; bench/death.py has the other cases.  The last line has
all figures as JSON.
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import sys
import time

from peer import ROOT, TROUBLE, Peer, show_table
from stores import LEASE, STORES, start_stores

PAIRS = 3  # of a holder, which is killed, and a waiter
SHORT = 5.0


def pairs_of(stack, store, args, ttl):
    """[(holder, waiter)], each pair with its own tables, so that no other client sweeps them."""
    ret = []
    for number in range(PAIRS):
        space = f"crash{number}{'short' if ttl else ''}"
        if store.name == "zookeeper":
            space = None  # the server itself expires sessions
        url = store.url(space, ttl)
        name = f"crash-{number}-{ttl}"
        holder = stack.enter_context(Peer([args.driver, url, "hold", name]))
        holder.hear()
        waiter = stack.enter_context(Peer([args.driver, url, "wait", name]))
        waiter.hear()
        ret.append((holder, waiter))
    return ret


def crash(stores, args):
    """All pairs at once, because they do little but wait.  The holders are killed at different times
    after their last heartbeat."""
    found = {store.name: {} for store in stores}
    with contextlib.ExitStack() as stack:
        plan, killed = [], []
        for store in stores:
            for kind, ttl in (("own", None), ("short", SHORT)):
                for number, pair in enumerate(pairs_of(stack, store, args, ttl)):
                    wait = number * (ttl or LEASE) / 3 / PAIRS
                    plan.append((wait, store.name, kind, *pair))
        start = time.monotonic()
        for wait, *rest, holder, waiter in sorted(plan, key=lambda one: one[0]):
            time.sleep(max(0.0, start + wait - time.monotonic()))
            killed.append((*rest, waiter, time.monotonic()))
            os.kill(holder.process.pid, signal.SIGKILL)
        for name, kind, waiter, when in killed:
            took = float(waiter.hear()[1]) / 1e6 - when
            found[name].setdefault(kind, []).append(round(took, 4))
    return {name: {f"{kind}_{what.__name__}": what(times) for kind, times in one.items()
                   for what in (min, max)} for name, one in found.items()}


def main():
    parser = argparse.ArgumentParser(description="How long a dead holder keeps a lock.")
    parser.add_argument("-s", "--store", action="append", choices=list(STORES))
    parser.add_argument("-b", "--build", type=pathlib.Path, default=ROOT / "build")
    args = parser.parse_args()
    args.driver = args.build / "bench/death/driver"
    with contextlib.ExitStack() as stack:
        stores = start_stores(stack, args.store or STORES)
        time.sleep(max(0.0, *(store.ready - time.monotonic() for store in stores)))
        found = crash(stores, args)
    keys = {"own_min": "seconds, at least", "own_max": "at most",
            "short_min": "of 5 s, at least", "short_max": "at most"}
    show_table([["", *keys.values()],
                *([name, *(f"{one[key]:.3f}" for key in keys)] for name, one in found.items())])
    print("\n" + json.dumps(found, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TROUBLE as error:
        sys.exit(f"crash.py: {error}")
