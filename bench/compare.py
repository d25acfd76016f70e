#!/usr/bin/env -S python3 -B
"""compare.py - the same driver on every store, in one run.

    bench/compare.py [-r ROUNDS] [-s STORE]... [-b BUILD] [PART...]

Servers are started for it, on this machine, and asked by TCP:

    sqlite       a file on a disk
    zookeeper    one server, its data and log in memory
    redis        one server that writes nothing down
    redis-aof    ... that writes all it does to a disk before it answers
    postgres     one server as it is shipped, its data on a disk
    pgbouncer    the same behind a pgbouncer in transaction mode

Parts, in rounds in which stores take turns; medians are shown:

    free    acquire and release a free lock, one process, both answers awaited
    own     8 processes do that, each with a lock of its own: of all together
    turns   8 processes take turns on one lock, and hold it for no time: from the call of
            release until the next one, who waits, has it; and turns a second
    crash   a holder is killed (kill -9), one waits: how long until he has it, with the
            store's own lease and with one of 5 s; the least and the most of three
    trips   round trips to the server for one acquire and release, counted by a relay

The last line has all figures as JSON.
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import sys
import time

from peer import ROOT, TROUBLE, Peer, medians, show_table
from relay import Relay
from stores import LEASE, STORES, start_stores

PROCESSES = 8
PAIRS = 3  # of a holder to be killed and a waiter
SHORT = 5.0
WARM_UP = 2.0  # seconds of each store: Java translates what has run often


def in_turns(stores, rounds, measure):
    """{name: medians of the figures that measure(store) gives}; stores take turns."""
    found = {store.name: [] for store in stores}
    for number in range(rounds):
        for store in stores if number % 2 else reversed(stores):
            found[store.name].append(measure(store))
    return {name: medians(runs) for name, runs in found.items()}


def rate(said):
    return {"per_s": float(said[0]) / float(said[1]), "p50": float(said[2]),
            "p99": float(said[3])}


def free(stores, args):
    with contextlib.ExitStack() as stack:
        peers = {store.name: stack.enter_context(
            Peer([args.driver, store.url(), "free", store.cycles])) for store in stores}
        for peer in peers.values():
            end = time.monotonic() + WARM_UP
            while time.monotonic() < end:
                peer.ask("go")
        return in_turns(stores, args.rounds, lambda store: rate(peers[store.name].ask("go")))


def own(stores, args):
    def measure(store):
        with Peer([args.driver, store.url(), "own", PROCESSES, store.own]) as peer:
            return rate(peer.hear())
    return in_turns(stores, args.rounds, measure)


def turns(stores, args):
    def measure(store):
        with Peer([args.turns, store.url(), PROCESSES, store.turns, 0]) as peer:
            peer.hear()
            said = peer.ask("go")
            peer.say("end")
        return {"per_s": PROCESSES * store.turns / float(said[0]), "p50": float(said[2]),
                "p99": float(said[3])}
    return in_turns(stores, args.rounds, measure)


# ---- A crash -----------------------------------------------------------------------------


def pairs_of(stack, store, args, ttl):
    """[(holder, waiter)], each with tables of its own: nobody else looks after them."""
    ret = []
    for number in range(PAIRS):
        space = f"crash{number}{'short' if ttl else ''}"
        if store.name == "zookeeper":
            space = None  # the server sees to it, whoever else is there
        url = store.url(space, ttl)
        name = f"crash-{number}-{ttl}"
        holder = stack.enter_context(Peer([args.driver, url, "hold", name]))
        holder.hear()
        waiter = stack.enter_context(Peer([args.driver, url, "wait", name]))
        waiter.hear()
        ret.append((holder, waiter))
    return ret


def crash(stores, args):
    """All at once: they wait and do little else.  Killed at different times since they
    last told the server that they live."""
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


# ---- Round trips -----------------------------------------------------------------------------


def trips(stores, args):
    found = {}
    for store in stores:
        if store.port is None:
            found[store.name] = {"trips": 0.0}
            continue
        with Relay(store.host, int(store.port)) as relay, \
                Peer([args.driver, store.url(port=relay.port), "free", 100]) as peer:
            peer.ask("go")
            before = relay.trips
            peer.ask("go")
            found[store.name] = {"trips": round((relay.trips - before) / 100, 2)}
    return found


# ---- All of it ---------------------------------------------------------------------------------

COLUMNS = [  # heading, part, figure, how to write it
    ("free p50 us", "free", "p50", "{:.0f}"), ("free/s", "free", "per_s", "{:.0f}"),
    ("8 locks/s", "own", "per_s", "{:.0f}"), ("hand-over us", "turns", "p50", "{:.0f}"),
    ("turns/s", "turns", "per_s", "{:.0f}"), ("crash s, at least", "crash", "own_min", "{:.3f}"),
    ("at most", "crash", "own_max", "{:.3f}"), ("of 5 s, at least", "crash", "short_min", "{:.3f}"),
    ("at most", "crash", "short_max", "{:.3f}"), ("trips", "trips", "trips", "{:.1f}"),
]


def show(results, names):
    rows = [["", *(heading for heading, part, *_ in COLUMNS if part in results)]]
    for name in names:
        rows.append([name, *(form.format(results[part][name][key])
                             for _, part, key, form in COLUMNS if part in results)])
    show_table(rows)


def main():
    parts = {"free": free, "own": own, "turns": turns, "crash": crash, "trips": trips}
    parser = argparse.ArgumentParser(description="The same driver on every store.")
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("-s", "--store", action="append", choices=list(STORES))
    parser.add_argument("-b", "--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("part", nargs="*", help=", ".join(parts))
    args = parser.parse_args()
    args.driver = pathlib.Path(args.build) / "bench/compare/driver"
    args.turns = pathlib.Path(args.build) / "bench/redis/turns"
    results, load = {}, os.getloadavg()[0]
    with contextlib.ExitStack() as stack:
        stores = start_stores(stack, args.store or STORES)
        time.sleep(max(0.0, *(store.ready - time.monotonic() for store in stores)))
        for part in args.part or parts:
            results[part] = parts[part](stores, args)
            print(f"# {part} done", file=sys.stderr)
        names = [store.name for store in stores]
    show(results, names)
    results["load"] = [load, os.getloadavg()[0]]
    print("\n" + json.dumps(results, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TROUBLE as error:
        sys.exit(f"compare.py: {error}")
