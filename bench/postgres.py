#!/usr/bin/env -S python3 -B
"""postgres.py - Holdfast on one PostgreSQL server, beside what the server can do at best.

    bench/postgres.py [-r ROUNDS] [-n COUNT] [-b BUILD] [PART...]

The server has its data on a disk, with fsync, and is set up as it is shipped.

    free    acquire and release a free lock, one connection, by Unix socket and by TCP;
            beside two UPDATEs of one row, each committed, beside pg_advisory_lock and
            pg_advisory_unlock, and beside SELECT 1, all prepared, by libpq.  All take turns
            in each round, in one direction and then in the other; medians are shown, and
            medians of the ratios of each round.  "lazy" are the UPDATEs again with the
            second one's commit not waited for on the disk, as Holdfast's release.
    turns   8 processes take turns on one lock, for no time and for a millisecond, so that
            all others are asleep when it is given back: how long from the release until the
            next one has it.  Beside a NOTIFY from one connection until another has it:
            alone, and while they take turns.  (It wakes the server's processes of all who
            LISTEN in the database, so it takes the longer the more they are.)
    line    1,000 waiters of one process in one line
    layout  by SQL alone: the tables as they are (schema.sql) beside a whole line in one row
            of arrays (postgres/one_row.sql).  Not unless it is asked for.

Processes that take turns count in shared memory; the count must come out.  The last line
has all figures as JSON.
"""
import argparse
import json
import os
import pathlib
import sys

from peer import ROOT, TROUBLE, Peer, Postgres, cpu_us, medians, ratio
import postgres

PROCESSES = 8
HOLD_US = 1000
NOTIFIES = 300
SIZES = [("free", 0, 300), ("turns", PROCESSES, 60), ("line", 10, 100), ("line", 100, 100),
         ("line", 1000, 100), ("pass", 10, 100), ("pass", 100, 100), ("pass", 1000, 100)]


# ---- A free lock -----------------------------------------------------------------------


def measure(peer, what, count):
    before = cpu_us(peer.process.pid)
    said = peer.ask(f"{what} {count} 0")
    return {"us": float(said[2]) * 1e6 / count, "p50": float(said[3]), "p99": float(said[4]),
            "client_us": (cpu_us(peer.process.pid) - before) / count}


def contest(contestants, rounds, count):
    """{name: [figures of each round]}; the first round, which warms up, is not among them."""
    found = {name: [] for name in contestants}
    for number in range(rounds + 1):
        names = list(contestants)
        for name in names if number % 2 else reversed(names):
            figures = measure(contestants[name], name.split()[0], count)
            if number > 0:
                found[name].append(figures)
    return found


def free(server, args, results):
    contestants = {}
    with Peer([args.programs / "postgres_cycle", server.conninfo, server.unix_url]) as unix, \
            Peer([args.programs / "postgres_cycle", server.url, server.url]) as tcp:
        for kind, peer in (("unix", unix), ("tcp", tcp)):
            for what in ("select", "updates", "lazy", "advisory", "mutex", "loop", "eager"):
                contestants[f"{what} {kind}"] = peer
        found = contest(contestants, args.rounds, args.count)
    results["free"] = {name: medians(rounds) for name, rounds in found.items()}
    results["ratio"] = {f"{ours} {kind} to {theirs}":
                        ratio(found, f"{ours} {kind}", f"{theirs} {kind}")
                        for kind in ("unix", "tcp") for ours in ("mutex", "loop", "eager")
                        for theirs in ("updates", "lazy", "advisory")}
    print(f"{'free lock':<15}{'per s':>8}{'us':>9}{'p50':>9}{'p99':>9}{'client us':>11}"
          f"{'to updates':>12}{'to lazy':>9}{'to advisory':>13}")
    for name, one in results["free"].items():
        line = f"{name:<15}{1e6 / one['us']:>8.0f}" + "".join(
            f"{one[key]:>{width}.1f}" for key, width in
            (("us", 9), ("p50", 9), ("p99", 9), ("client_us", 11)))
        for whom, width in (("updates", 12), ("lazy", 9), ("advisory", 13)):
            value = results["ratio"].get(f"{name} to {whom}")
            line += "".rjust(width) if value is None else f"{value:.2f}".rjust(width)
        print(line.rstrip())


# ---- Hand-over ---------------------------------------------------------------------------


def take_turns(server, args, turns, hold):
    """The figures of one run, with a NOTIFY by another process meanwhile."""
    argv = [args.common / "turns", server.unix_url, PROCESSES, turns, hold]
    with Peer(argv) as peer, \
            Peer([args.programs / "postgres_cycle", server.conninfo, server.unix_url]) as other:
        alone = other.ask(f"notify {NOTIFIES} {HOLD_US}")
        peer.hear()
        peer.say("go")
        beside = other.ask(f"notify {NOTIFIES // 3} {HOLD_US}")
        said = [float(word) for word in peer.hear()]
        peer.say("end")
    return {"per_s": round(PROCESSES * turns / said[0]), "hands": int(said[1]), "p50": said[2],
            "p99": said[3], "notify": float(alone[3]), "notify_beside": float(beside[3])}


def turns(server, args, results):
    results["turns"] = found = {}
    kinds = {"no time": (150, 0), "1 ms": (100, HOLD_US)}
    rounds = {name: [] for name in kinds}
    for _ in range(3):
        for name, (count, hold) in kinds.items():
            rounds[name].append(take_turns(server, args, count, hold))
    print(f"\n{f'{PROCESSES} processes':<15}{'turns/s':>8}{'p50 us':>9}{'p99 us':>9}"
          f"{'NOTIFY':>9}{'beside':>9}{'times NOTIFY':>14}{'beside':>9}")
    for name, runs in rounds.items():
        found[name] = one = medians(runs)
        print(f"{name:<15}{one['per_s']:>8.0f}{one['p50']:>9.1f}{one['p99']:>9.1f}"
              f"{one['notify']:>9.1f}{one['notify_beside']:>9.1f}"
              f"{one['p50'] / one['notify']:>14.2f}{one['p50'] / one['notify_beside']:>9.2f}")


# ---- A long line -----------------------------------------------------------------------------


def line(server, args, results):
    waiters = 1000
    with Peer([args.common / "line", server.unix_url, waiters]) as peer:
        _, queued, size, threads, threads_before = peer.hear()
        _, drained = peer.ask("go")
    results["line"] = one = {
        "waiters": waiters, "queue_s": float(queued), "drain_s": float(drained),
        "bytes": round(int(size) / waiters), "threads": int(threads),
        "threads_before": int(threads_before)}
    print(f"\n{'waiters':<15}{'queue s':>8}{'drain s':>9}{'bytes each':>12}{'threads':>9}"
          f"{'before':>8}")
    print(f"{waiters:<15}{one['queue_s']:>8.3f}{one['drain_s']:>9.3f}{one['bytes']:>12}"
          f"{one['threads']:>9}{one['threads_before']:>8}")


# ---- Two layouts -------------------------------------------------------------------------------


def layout(server, args, results):
    database = "layout"
    server.createdb(database, schema=True)
    with server.connect(database, postgres.USER) as link:
        link.run((ROOT / "bench/postgres/one_row.sql").read_text())
        link.run("CREATE FUNCTION holdfast.open(text) RETURNS void LANGUAGE sql AS "
                 "$$ SELECT holdfast.hello(2, $1, 1, 30000, true, '') $$")
    conninfo = server.conninfo.replace("dbname=test", f"dbname={database}")
    results["layout"] = found = {}
    print(f"\n{'layout':<15}{'rows p50':>10}{'per s':>8}{'one row p50':>13}{'per s':>8}"
          f"{'times':>8}")
    with Peer([args.programs / "postgres_layout", conninfo, "holdfast"]) as rows, \
            Peer([args.programs / "postgres_layout", conninfo, "one_row"]) as arrays:
        peers = [rows, arrays]
        for peer in peers:
            peer.hear()
        for what, size, count in SIZES:
            taken = [[], []]
            for number in range(4):
                for which in (0, 1) if number % 2 else (1, 0):
                    said = [float(word) for word in peers[which].ask(f"{what} {size} {count}")]
                    if number > 0:
                        taken[which].append({"p50": said[2], "per_s": said[0] / said[1]})
            a, b = (medians(runs) for runs in taken)
            found[f"{what} {size}".replace(" 0", "")] = {"rows": a, "one row": b}
            name = what if size == 0 else f"{what} {size}"
            print(f"{name:<15}{a['p50']:>10.1f}{a['per_s']:>8.0f}{b['p50']:>13.1f}"
                  f"{b['per_s']:>8.0f}{a['per_s'] / b['per_s']:>8.2f}")


def main():
    parser = argparse.ArgumentParser(description="Holdfast on one PostgreSQL server.")
    parser.add_argument("-r", "--rounds", type=int, default=30)
    parser.add_argument("-n", "--count", type=int, default=100, help="cycles of one side's turn")
    parser.add_argument("-b", "--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("part", nargs="*", help="free, turns, line, layout")
    args = parser.parse_args()
    args.programs = pathlib.Path(args.build) / "bench/postgres"
    args.common = pathlib.Path(args.build) / "bench/redis"
    parts = {"free": free, "turns": turns, "line": line, "layout": layout}
    results = {}
    with Postgres() as server:
        with server.connect(None, postgres.USER) as link:
            link.run("CREATE TABLE bench (n bigint) WITH (fillfactor = 50); "
                     "INSERT INTO bench VALUES (0)")
        for part in args.part or ["free", "turns", "line"]:
            parts[part](server, args, results)
            sys.stdout.flush()
    results["load"] = os.getloadavg()
    print("\n" + json.dumps(results, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TROUBLE as error:
        sys.exit(f"postgres.py: {error}")
