#!/usr/bin/env -S python3 -B
"""death.py - how long after the death of a holder is the next waiter granted the lock?

    bench/death.py [-n TIMES] [-p TIMES] [-s STORE]... [-b BUILD] [--json] [PART...]

Exits with 1 if a command began while the one before it was alive, or before its deadline.

It starts its own servers on this machine, as measure.py does; leases are 15 s.

    kill    kill -9 of `holdfast run`, TIMES times on each store.  Its command is a pipeline with a double
            fork, a process in its own session, and one that did both
    oom     the same, but the kernel kills it, for lack of memory in a control group
    guardian  a program with HF_GUARDIAN, by SIGKILL and by SIGSEGV
    stop    `holdfast run` is stopped for longer than its lease, which is 4 s here, at most 20 times.  Its
            command ignores SIGTERM, so it lives until the deadline, when the guardian kills it.  The time
            is counted from the stop.  "late" is the shortest time from the deadline, as --status-fd last
            reported it, until the next command began
    peers   etcdctl lock, Curator and npm's redlock by SIGKILL, `-p` times each.  This does not install
            etcd, since that would start a server: Debian has etcd-server and etcd-client.  Peers that are
            not installed are left out, and so is redlock without npm

The time is counted from the signal (for `oom`, from the moment when the process was seen dead) until the
first instruction of the next command.  Before anything else, that command polls the pidfds of all earlier
processes, and counts those that are alive: "alive" is the number of rounds in which there was one.  This
does not depend on clocks: if it is 0, no instruction of the next command ran before the last process of
the tree had ended.  By clocks: "gone" is when a third process saw the last of them dead, "gap" the
shortest time from there to the start of the next command; it is negative if that third process was
scheduled late.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from peer import ROOT, TROUBLE, Failed, Peer, show_table
from stores import LEASE, start_stores
from victim import STUBBORN, TREE, Deaths, Place, outcome, tree_of
import server_process
import death_peers
from memory_group import MemoryGroup, make_victim

STORES = ["zookeeper", "redis", "postgres", "mariadb"]
SOON = 300  # ms
SHORT = 4.0  # seconds: two ticks, the shortest that ZooKeeper allows
STOPS = 20
STOPS_AT_ONCE = 5
LOST = 79  # the exit code of `holdfast run` then


def send(holder, number):
    now = time.monotonic_ns()
    os.kill(holder.process.pid, number)
    return now


def ended(holder, status):
    if (found := holder.process.wait(10)) != status:
        raise Failed(f"the holder ended with {found}, not {status}")


# ---- One round of each -------------------------------------------------------------------


def tree_dies(store, args, kill, **more):
    """kill(holder, deaths) returns the time.  The guardian ends a little later, too."""
    place = Place(args, store.url(ttl=LEASE))
    with place.run("sh", "-c", TREE, **more) as holder:
        guardian, tree = tree_of(holder)
        with Deaths([guardian]) as end, \
                place.watched([holder.process.pid, *tree]) as (deaths, waiter):
            found = outcome(kill(holder, deaths), deaths, waiter)
            end.last()
        ended(holder, -signal.SIGKILL)
    return found


def kill(store, args):
    return tree_dies(store, args, lambda holder, _: send(holder, signal.SIGKILL))


def oom(store, args):
    def starve(holder, deaths):
        make_victim(holder.process.pid)
        holder.say("eat")
        deaths.last()
        return deaths.seen[holder.process.pid]

    with MemoryGroup() as group:
        found = tree_dies(store, args, starve, inside=group.inside)
        if group.kills() == 0:
            raise Failed("the kernel killed nobody")
    return found


def guardian(store, args, number):
    place = Place(args, store.url(ttl=LEASE))
    argv = [args.driver, place.env["HOLDFAST_URL"], "hold", place.name, args.holdfast]
    with Peer(argv) as holder:
        holder.hear()
        with place.watched([holder.process.pid]) as (deaths, waiter):
            found = outcome(send(holder, number), deaths, waiter)
        ended(holder, -number)
    return found


def last_deadline(status):
    """In nanoseconds of the monotonic clock, from the status messages of `run`."""
    lines = os.pread(status.fileno(), 1 << 20, 0).decode().splitlines()
    told = [line["deadline"] for line in map(json.loads, lines) if "deadline" in line]
    ahead = time.time() - time.monotonic()
    return (datetime.datetime.fromisoformat(told[-1]).timestamp() - ahead) * 1e9


def stop(store, args):
    """Stops it until the next one has the lock; then it goes on, and must notice the loss."""
    place = Place(args, store.url(ttl=SHORT))
    with tempfile.TemporaryFile() as status, \
            place.run("sh", "-c", STUBBORN, options=["--status-fd", status.fileno()],
                      pass_fds=[status.fileno()], stderr=subprocess.DEVNULL) as holder:
        _, tree = tree_of(holder)
        with place.watched(tree) as (deaths, waiter):
            stopped = send(holder, signal.SIGSTOP)
            try:
                found = outcome(stopped, deaths, waiter)
            finally:
                send(holder, signal.SIGCONT)
        found["deadline_ms"] = (last_deadline(status) - stopped) / 1e6
        ended(holder, LOST)
    return found


# ---- All of it -----------------------------------------------------------------------------


def row(what, store, lease, rounds):
    times = [each["ms"] / 1e3 for each in rounds]
    ret = {"what": what, "store": store, "lease": lease, "times": len(rounds),
           "least": min(times), "median": statistics.median(times), "worst": max(times),
           "soon": sum(each * 1e3 <= SOON for each in times), "all": times}
    if "alive" in rounds[0]:
        ret["alive"] = sum(each["alive"] > 0 for each in rounds)
    if "gone_ms" in rounds[0]:
        ret["gone"] = statistics.median(each["gone_ms"] for each in rounds) / 1e3
        ret["gap"] = min(each["ms"] - each["gone_ms"] for each in rounds) / 1e3
    if "deadline_ms" in rounds[0]:
        ret["late"] = min(each["ms"] - each["deadline_ms"] for each in rounds) / 1e3
    return ret


def one_by_one(what, stores, args, once):
    """The stores take turns in each round."""
    found = {store.name: [] for store in stores}
    for _ in range(args.times):
        for store in stores:
            found[store.name].append(once(store, args))
    return [row(what, name, LEASE, rounds) for name, rounds in found.items()]


def do_kill(stores, args, _):
    return one_by_one("run, SIGKILL", stores, args, kill)


def do_oom(stores, args, _):
    try:
        return one_by_one("run, out of memory", stores, args, oom)
    except server_process.Missing as why:
        print(f"# oom is left out: {why}", file=sys.stderr)
        return []


def do_guardian(stores, args, _):
    return [each for number in (signal.SIGKILL, signal.SIGSEGV)
            for each in one_by_one(f"program, {number.name}", stores, args,
                                   lambda store, args: guardian(store, args, number))]


def do_stop(stores, args, _):
    """Several at once, because they do little but wait."""
    times = range(min(args.times, STOPS))
    with ThreadPoolExecutor(STOPS_AT_ONCE * len(stores)) as pool:
        found = {store.name: [] for store in stores}
        for _ in times:
            for store in stores:
                found[store.name].append(pool.submit(stop, store, args))
        return [row("run, SIGSTOP", name, SHORT, [each.result() for each in rounds])
                for name, rounds in found.items()]


def do_peers(_, args, stack):
    return [row(f"{peer.name}, SIGKILL", "", peer.lease, rounds)
            for peer, rounds in death_peers.deaths_of(stack, args)]


PARTS = {"peers": do_peers, "kill": do_kill, "oom": do_oom, "guardian": do_guardian,
         "stop": do_stop}
COLUMNS = {"what": "", "store": "store", "lease": "lease s", "times": "times",
           "least": "least s", "median": "median s", "worst": "worst s", "soon": "in 0.3 s",
           "alive": "alive", "gone": "gone s", "gap": "gap s", "late": "late s"}


def cell(key, value):
    if key == "lease":
        return f"{value:g}"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def show(rows):
    show_table([list(COLUMNS.values()),
                *([cell(key, one.get(key, "")) for key in COLUMNS] for one in rows)])


def main():
    parser = argparse.ArgumentParser(description="How soon a dead holder is replaced.")
    parser.add_argument("-n", "--times", type=int, default=50)
    parser.add_argument("-p", "--peers", type=int, default=6, help="times of each peer")
    parser.add_argument("-s", "--store", action="append", choices=STORES)
    parser.add_argument("-b", "--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("--json", action="store_true", help="instead of the table")
    parser.add_argument("part", nargs="*", help=", ".join(PARTS))
    args = parser.parse_args()
    build = pathlib.Path(args.build).resolve()
    args.holdfast = build / "holdfast"
    args.next, args.driver = build / "bench/death/next", build / "bench/death/driver"
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # writing a core dump would count as dying
    rows, load = [], os.getloadavg()[0]
    with contextlib.ExitStack() as stack:
        stores = start_stores(stack, args.store or STORES)
        args.zookeeper = next((store for store in stores if store.name == "zookeeper"), None)
        for part in args.part or PARTS:
            if part != "peers":
                time.sleep(max(0.0, *(store.ready - time.monotonic() for store in stores)))
            rows += PARTS[part](stores, args, stack)
            print(f"# {part} done", file=sys.stderr)
    if args.json:
        print(json.dumps({"rows": rows, "load": [load, os.getloadavg()[0]]}))
    else:
        show(rows)
    early = [one for one in rows if one["store"] and
             (one["alive"] > 0 or one.get("late", 0) < 0)]
    return 1 if early else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TROUBLE as error:
        sys.exit(f"death.py: {error}")
