#!/usr/bin/env -S python3 -B
"""measure.py - compare Holdfast with its peers and floors on all stores, in one run.

    bench/measure.py [-s STORE]... [-d DISTANCE]... [-r ROUNDS] [-t SECONDS] [--pin]
                     [--data memory|disk] [--fsync always|everysec] [--side NAME]...
                     [--json FILE] [--chart FILE.svg] [SCENARIO...]

bench/README.md describes the scenarios and the columns.  Without a SCENARIO it runs those of about ten
minutes, with "all" more.  DISTANCE is the round trip in milliseconds, by a relay (0: no relay), or "unix";
the default is 0 and 2.

Exits with 1 if a side failed, or two held a lock at the same time.
"""
import argparse
import contextlib
import os
import pathlib
import platform
import random
import signal
import sys
import time

from cores import Cores
from peer import ROOT, TROUBLE, show_table
from relay import Relay
from scenarios import ALL, NAMES, NEAR, SHORT, Scenario

sys.path[:0] = [str(ROOT / "test/interop"), str(ROOT / "tools/pictures")]
import chart  # noqa: E402
import sides  # noqa: E402
from rounds import WARM, Place  # noqa: E402
from stores import STORES, start_stores  # noqa: E402

DEFAULT = ["sqlite", "zookeeper", "redis", "postgres", "mariadb"]

# ---- Output ---------------------------------------------------------------------------------------

COLUMNS = [("rate", "per s"), ("fair", "fair"), ("p50", "p50 us"), ("p99", "p99 us"), ("client_us", "client us"),
           ("server_us", "server us"), ("requests", "requests"), ("trips", "trips"),
           ("times", "Holdfast, times"), ("times_quartiles", "quartiles"),
           ("times_fair", "fair, times")]


def cell(row, key):
    value = row.get(key)
    if value is None:
        return "-"
    if key == "times_quartiles":
        return f"{value[0]:.2f}-{value[1]:.2f}"
    return f"{value:.2f}" if key in ("times", "times_fair", "requests", "trips") else f"{value:.0f}" \
        if value >= 10 else f"{value:.1f}"


def show(place, rows):
    print(f"\n{place.title()}")
    table = [["", "", *(heading for _, heading in COLUMNS)]]
    last = None
    for row in rows:
        name = row["scenario"] if row["scenario"] != last else ""
        last = row["scenario"]
        table.append([name, row["side"], *(cell(row, key) for key, _ in COLUMNS)])
    widest = max(len(line[1]) for line in table)
    show_table([[line[0], line[1].ljust(widest), *line[2:]] for line in table])
    sys.stdout.flush()


# ---- The run ---------------------------------------------------------------------------------------


class Run:
    def __init__(self, args):
        self.args, self.rows, self.failed, self.left_out = args, [], [], []
        self.places = self.done = 0  # how many turns there are, and how many are done
        self.cores, self.begun, self.systems = Cores(args.pin), time.monotonic(), {}
        args.leave_out, args.fail, args.tell = self.leave_out, self.fail, self.tell
        args.cores = self.cores
        args.dice = random.Random(args.seed)

    def leave_out(self, name, why):
        text = f"{name} is left out: {why}"
        if text not in self.left_out:
            self.left_out.append(text)
            print(f"# {text}", file=sys.stderr)

    def tell(self, text):
        if self.args.progress:
            seconds = int(time.monotonic() - self.begun)
            print(f"# {seconds // 60}:{seconds % 60:02} {text}", file=sys.stderr)

    def fail(self, text):
        self.failed.append(text)
        print(f"measure.py: {text}", file=sys.stderr)

    def play(self, place, scenarios):
        with contextlib.ExitStack() as stack:
            for side in place.sides:
                stack.enter_context(side)
            place.run(scenarios)
        order = [scenario.text for scenario in scenarios]
        rows = sorted(place.results(), key=lambda row: (order.index(row["scenario"]),
                                                        row["side"] != "Holdfast"))
        self.rows += rows
        show(place, rows)

    def distances(self, store):
        if store.port is None:
            return [0.0]
        return [one for one in self.args.distance if one != "unix" or store.has_unix]

    def relay(self, stack, port, distance):
        if distance in ("unix", 0.0):
            return None
        with self.cores.of("relay"):
            return stack.enter_context(Relay(self.args.build, int(port), distance))

    def of_store(self, store):
        time.sleep(max(0.0, store.ready - time.monotonic()))
        for number, distance in enumerate(self.distances(store)):
            scenarios = [one for one in self.args.scenarios
                         if number == 0 or one.kind not in self.args.near]
            with contextlib.ExitStack() as stack:
                relay = self.relay(stack, store.port, distance)
                stack.enter_context(self.cores.of("clients" if store.port else "all"))
                port = relay.port if relay else "unix" if distance == "unix" else None
                found = sides.SIDES[store.name](store, port, self.args)
                self.done += 1
                until = self.begun + self.args.limit * self.done / self.places
                self.play(Place(store, distance, relay, list(found), self.args, until), scenarios)

    def estimate(self, names):
        """Seconds."""
        total = 20.0
        for name in names:
            for number in range(1 if name == "sqlite" else len(self.args.distance)):
                total += 15.0
                for scenario in self.args.scenarios:
                    if number > 0 and scenario.kind in self.args.near:
                        continue
                    players = sides.PLAYERS.get(name, {}).get(scenario.kind, 2)
                    if self.args.side:
                        players = min(players, 1 + len(self.args.side))
                    rounds = scenario.rounds(self.args.rounds)
                    total += players * (scenario.takes(self.args.seconds) * rounds +
                                        WARM * scenario.is_timed())
        return total

    def all(self, names):
        print(f"# {len(self.args.scenarios)} scenarios, {self.args.rounds} rounds: about "
              f"{self.estimate(names) / 60:.0f} minutes", file=sys.stderr)
        with contextlib.ExitStack() as stack:
            with self.cores.of("servers"):
                stores = start_stores(stack, names, self.args.data, self.args.fsync)
            self.places = sum(len(self.distances(store)) for store in stores)
            for store in stores:
                self.systems[f"{store.name}, {store.data}"] = store.system
                self.of_store(store)
            self.of_commands(stores)

    def of_commands(self, stores):
        """Commands that run another one under a lock: S6."""
        wanted = [one for one in self.args.scenarios if one.kind == "S6"]
        distances = [one for one in self.args.distance if one != "unix"]
        for distance in distances[:1 if "S6" in self.args.near else None] if wanted else []:
            with contextlib.ExitStack() as stack:
                def port_of(port):
                    relay = self.relay(stack, port, distance)
                    return relay.port if relay else port
                stack.enter_context(self.cores.of("clients"))
                found = list(sides.commands(stack, stores, self.args, port_of))
                self.play(Place(None, distance, None, found, self.args), wanted)

    def document(self, load):
        kernel = ".".join(platform.release().split(".")[:2])
        return {"version": 1, "cores": os.cpu_count(), "kernel": kernel,
                "load": [load, os.getloadavg()[0]], "network": "relay",
                "pinned": self.args.pin, "seed": self.args.seed,
                "file_systems": self.systems, "fsync": self.args.fsync,
                "rounds": self.args.rounds, "seconds": self.args.seconds,
                "scenarios": {one.text: NAMES[one.kind] for one in self.args.scenarios},
                "left_out": self.left_out, "failed": self.failed, "results": self.rows}


def distance(text):
    return text if text == "unix" else float(text)


def read_arguments(words=None):
    parser = argparse.ArgumentParser(description="Holdfast beside its peers and floors.")
    parser.add_argument("-s", "--store", action="append", choices=list(STORES))
    parser.add_argument("-d", "--distance", action="append", type=distance)
    parser.add_argument("-r", "--rounds", type=int, default=7)
    parser.add_argument("-t", "--seconds", type=float, default=0.2, help="of one side's turn")
    parser.add_argument("--pin", action="store_true", help="servers on one core, clients on another")
    parser.add_argument("--data", choices=["memory", "disk"])
    parser.add_argument("--fsync", choices=["always", "everysec"], default="always",
                        help="of a Redis that has its data on a disk")
    parser.add_argument("--side", action="append", help="only these beside Holdfast")
    parser.add_argument("--quick", action="store_true", help="without warming up")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6),
                        help="of the order in which sides play")
    parser.add_argument("--limit", type=float, default=float("inf"),
                        help="seconds; a store that has used up its share begins no third round")
    parser.add_argument("--once", action="store_true",
                        help="S6, S7 and S8 at the first distance alone")
    parser.add_argument("--progress", action="store_true", help="on stderr")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--chart", type=pathlib.Path)
    parser.add_argument("-b", "--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("scenario", nargs="*")
    args = parser.parse_args(words)
    texts = ALL if args.scenario == ["all"] else args.scenario or SHORT
    try:
        args.scenarios = [Scenario(text) for text in texts]
    except ValueError as error:
        parser.error(str(error))
    args.near = NEAR if args.once or args.scenario in ([], ["all"]) else set()
    args.distance = args.distance or [0.0, 2.0]
    return args


def main():
    args = read_arguments()
    run, load = Run(args), os.getloadavg()[0]
    run.all(args.store or DEFAULT)
    document = run.document(load)
    if args.json:
        args.json.write_text(chart.dump(document))
    if args.chart:
        args.chart.write_text(chart.drawn(document))
    return 1 if run.failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that files and servers are removed
    try:
        sys.exit(main())
    except TROUBLE as error:
        sys.exit(f"measure.py: {error}")
