#!/usr/bin/env -S python3 -B
"""redis.py - Holdfast on one Redis server, beside what others do with it.

    bench/redis.py [-r ROUNDS] [-n COUNT] [-b BUILD] [PART...]

The server keeps its data in memory and listens on a Unix socket and on 127.0.0.1.

    free    acquire and release a free lock, one connection; beside a PING, beside the
            plain lock most have (SET NX PX, then a script that compares and deletes),
            both by hiredis, and beside npm's redlock.  All take turns in each round, in
            one direction and then in the other; medians are shown, and medians of the
            ratios of each round.  Processor time is the kernel's count for one cycle.
            redlock is installed to a folder that goes afterwards; it is left out where
            there is no node, npm or network.
    turns   16 processes take turns on one lock: for no time, and for a millisecond, so
            that all others are asleep when it is given back; beside a PING that is asked
            by another process meanwhile.  Then once more to count who is woken.
    line    1,000 and 10,000 waiters of one process in one line

The last line has all figures as JSON.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

from peer import ROOT, TROUBLE, Peer, cpu_us, install_redlock, medians, ratio
import redis

PROCESSES = 16
HOLD_US = 1000
TTL = 10  # seconds: nobody is granted anything by a server that is younger
PINGS = 500  # about as long as the shortest of the runs they are asked in
LINE_SECONDS = 20.0  # a longer line is left out if it would take more


# ---- A free lock -----------------------------------------------------------------------


def measure(server, peer, what, count):
    """Of one cycle, microseconds: all of it, and the processors' time for it."""
    before = cpu_us(server.pid), cpu_us(peer.process.pid)
    said = peer.ask(f"{what} {count} 0")
    after = cpu_us(server.pid), cpu_us(peer.process.pid)
    return {"us": float(said[2]) * 1e6 / count, "p50": float(said[3]), "p99": float(said[4]),
            "server_us": (after[0] - before[0]) / count,
            "client_us": (after[1] - before[1]) / count}


def contest(server, contestants, rounds, count):
    """{name: [figures of each round]}; the first round, which warms up, is not among them."""
    found = {name: [] for name in contestants}
    for number in range(rounds + 1):
        names = list(contestants)
        for name in names if number % 2 else reversed(names):
            figures = measure(server, contestants[name], name.split()[0], count)
            if number > 0:
                found[name].append(figures)
    return found


def free(server, urls, args, results):
    with tempfile.TemporaryDirectory(prefix="holdfast-npm.") as folder, \
            Peer([args.programs / "redis_cycle", server.path, urls["unix"]]) as unix, \
            Peer([args.programs / "redis_cycle", server.port, urls["tcp"]]) as tcp:
        contestants = {}
        for kind, peer in (("unix", unix), ("tcp", tcp)):
            for what in ("ping", "bare", "mutex", "loop", "eager"):
                contestants[f"{what} {kind}"] = peer
        why = install_redlock(folder)
        if why is not None:
            print(f"redlock is left out: {why}")
            found = contest(server, contestants, args.rounds, args.count)
        else:
            env = os.environ | {"NODE_PATH": f"{folder}/node_modules"}
            with Peer(["node", ROOT / "bench/redis/redlock.js", server.port], env=env) as node:
                contestants["redlock tcp"] = node
                measure(server, node, "redlock", 3 * args.count)  # to be translated
                found = contest(server, contestants, args.rounds, args.count)
    results["free"] = {name: medians(rounds) for name, rounds in found.items()}
    results["ratio"] = {f"{ours} {kind} to bare": ratio(found, f"{ours} {kind}", f"bare {kind}")
                        for kind in ("unix", "tcp") for ours in ("mutex", "loop", "eager")}
    if why is None:
        results["ratio"] |= {f"{ours} tcp to redlock": ratio(found, f"{ours} tcp", "redlock tcp")
                             for ours in ("mutex", "loop", "eager")}
    show_free(results)


def show_free(results):
    print(f"{'free lock':<14}{'per s':>9}{'us':>9}{'p50':>9}{'p99':>9}{'server us':>11}"
          f"{'client us':>11}{'to bare':>9}{'to redlock':>12}")
    for name, one in results["free"].items():
        line = f"{name:<14}{1e6 / one['us']:>9.0f}" + "".join(
            f"{one[key]:>{width}.1f}" for key, width in
            (("us", 9), ("p50", 9), ("p99", 9), ("server_us", 11), ("client_us", 11)))
        for whom, width in (("bare", 9), ("redlock", 12)):
            value = results["ratio"].get(f"{name} to {whom}")
            line += "".rjust(width) if value is None else f"{value:.2f}".rjust(width)
        print(line.rstrip())


# ---- Hand-over ---------------------------------------------------------------------------


def statistic(server, command):
    with server.client() as link:
        said = link.info("commandstats").get(f"cmdstat_{command}", "calls=0")
    return int(said.split(",")[0].removeprefix("calls="))


def take_turns(server, args, url, turns, hold, *more):
    """The figures of one run, with a PING by another process meanwhile."""
    argv = [args.programs / "turns", url, PROCESSES, turns, hold, *more]
    with Peer(argv) as peer, \
            Peer([args.programs / "redis_cycle", server.path, url]) as pinger:
        peer.hear()
        with server.client() as link:
            link.call("CONFIG", "RESETSTAT")
        peer.say("go")
        pinged = pinger.ask(f"ping {PINGS} {HOLD_US}")
        said = [float(word) for word in peer.hear()]
        published, scripts = statistic(server, "publish"), statistic(server, "evalsha")
        peer.say("end")
    releases = PROCESSES * turns
    return {"per_s": round(releases / said[0]), "hands": int(said[1]), "p50": said[2],
            "p99": said[3], "ping_p50": float(pinged[3]), "ping_p99": float(pinged[4]),
            "releases": releases, "published": published,
            "scripts_per_turn": round(scripts / releases, 2),
            "waited": int(said[4]), "woken": int(said[5])}


def turns(server, urls, args, results):
    results["turns"] = found = {}
    kinds = {"no time": (200, 0), "1 ms": (50, HOLD_US)}
    rounds = {name: [] for name in kinds}
    for _ in range(3):
        for name, (count, hold) in kinds.items():
            rounds[name].append(take_turns(server, args, urls["unix"], count, hold))
    for name, runs in rounds.items():
        found[name] = medians(runs)
    found["counted"] = take_turns(server, args, urls["unix"], 100, 0, "loop")
    print(f"\n{'16 processes':<14}{'turns/s':>9}{'p50 us':>9}{'p99 us':>9}{'PING p50':>11}"
          f"{'PING p99':>11}{'times':>9}")
    for name in kinds:
        one = found[name]
        print(f"{name:<14}{one['per_s']:>9.0f}{one['p50']:>9.1f}{one['p99']:>9.1f}"
              f"{one['ping_p50']:>11.1f}{one['ping_p99']:>11.1f}"
              f"{one['p50'] / one['ping_p50']:>9.2f}")
    one = found["counted"]
    print(f"{one['releases']} releases, {one['hands']} of them to one who waited: "
          f"{one['published']} messages sent, {one['woken']} times one who waited was woken; "
          f"{one['scripts_per_turn']} scripts a turn")


# ---- A long line -----------------------------------------------------------------------------


def used_memory(server):
    with server.client() as link:
        return int(link.info("memory")["used_memory"])


def stand_in_line(server, args, url, waiters):
    before = used_memory(server)
    with Peer([args.programs / "line", url, waiters]) as peer:
        _, queued, size, threads, threads_before = peer.hear()
        after = used_memory(server)
        _, drained = peer.ask("go")
    return {"queue_s": float(queued), "drain_s": float(drained),
            "bytes": round(int(size) / waiters), "server_bytes": round((after - before) / waiters),
            "threads": int(threads), "threads_before": int(threads_before)}


def line(server, urls, args, results):
    results["line"] = found = {}
    print(f"\n{'waiters':<14}{'queue s':>9}{'drain s':>9}{'bytes each':>12}{'at server':>11}"
          f"{'threads':>9}{'before':>8}")
    for waiters in (1000, 10000):
        if found and 10 * sum(found["1000"][key] for key in ("queue_s", "drain_s")) > LINE_SECONDS:
            print(f"{waiters:<14} is left out: it would take more than {LINE_SECONDS:.0f} s")
            break
        found[str(waiters)] = one = stand_in_line(server, args, urls["unix"], waiters)
        print(f"{waiters:<14}{one['queue_s']:>9.3f}{one['drain_s']:>9.3f}{one['bytes']:>12}"
              f"{one['server_bytes']:>11}{one['threads']:>9}{one['threads_before']:>8}")


def main():
    parser = argparse.ArgumentParser(description="Holdfast beside others on one Redis server.")
    parser.add_argument("-r", "--rounds", type=int, default=60)
    parser.add_argument("-n", "--count", type=int, default=200, help="cycles of one side's turn")
    parser.add_argument("-b", "--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("-u", "--url", help="measure this store of Holdfast's instead")
    parser.add_argument("part", nargs="*", help="free, turns, line")
    args = parser.parse_args()
    args.programs = pathlib.Path(args.build) / "bench/redis"
    parts = {"free": free, "turns": turns, "line": line}
    results = {}
    with redis.standalone() as server:
        urls = {"unix": args.url or f"redis+unix:{server.path}?ttl={TTL}s",
                "tcp": args.url or f"redis://{server.address}/0?ttl={TTL}s"}
        for part in args.part or parts:
            parts[part](server, urls, args, results)
            sys.stdout.flush()
    print("\n" + json.dumps(results, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TROUBLE as error:
        sys.exit(f"redis.py: {error}")
