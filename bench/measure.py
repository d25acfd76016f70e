#!/usr/bin/env -S python3 -B
"""measure.py - Holdfast beside its peers and floors: all stores, one run.

    bench/measure.py [-s STORE]... [-d DISTANCE]... [-r ROUNDS] [-t SECONDS] [--data memory|disk]
                     [--side NAME]... [--json FILE] [--chart FILE.svg] [SCENARIO...]

bench/README.md says what is played by whom, and how to read it.  Without a SCENARIO: those of
about ten minutes; "all": more of them.  DISTANCE is the round trip in milliseconds, by a relay
(0: none between), or "unix"; 0 and 2 if none is given.

Ends with 1 if a side failed, or two held a lock at a time.
"""
import argparse
import contextlib
import json
import os
import pathlib
import platform
import statistics
import sys
import time

from peer import ROOT, TROUBLE, Failed, show_table
from relay import Relay
from scenarios import ALL, IDLE, NAMES, NEAR, SHORT, Scenario

sys.path[:0] = [str(ROOT / "test/interop"), str(ROOT / "pictures")]
import chart  # noqa: E402
import sides  # noqa: E402
from stores import STORES, start_stores  # noqa: E402

WARM = 0.2  # seconds of a first round that does not count
JAVA_WARM = 2.0  # of what Java is to translate, once
DEFAULT = ["sqlite", "zookeeper", "redis", "postgres"]
FIGURES = ["rate", "fair", "p50", "p99", "client_us", "server_us", "requests", "bytes_out", "trips",
           "segments"]


# ---- One turn of one side ---------------------------------------------------------------------


def counted(store, side, relay):
    """What is counted, up to now."""
    ret = {"client_us": sides.cpu_seconds(side.pids()) * 1e6}
    if store is not None and store.pids():
        ret |= {"server_us": sides.cpu_seconds(store.pids()) * 1e6} | store.counts()
    return ret | (relay.counts() if relay else {})


def played(place, side, scenario, size):
    """The figures of one turn; what is counted is per operation, in S7 per second."""
    marks = []

    def mark():
        marks.append(counted(place.store, side, place.relay))

    def idle():
        mark()
        time.sleep(IDLE)
        mark()

    if side.processes and scenario.kind in sides.MANY:
        side.ensure(scenario.count)
    at_marks = {"S7": [idle], "S8": [mark, mark]}.get(scenario.kind, [])
    if not at_marks:
        mark()
    figures = side.play(scenario, size, at_marks)
    if not at_marks:
        mark()
    before, after = marks if scenario.kind != "S6" else ({}, {})
    if scenario.kind == "S7":
        figures["operations"] = IDLE
    operations = figures.pop("operations")
    ret = {key: value for key, value in figures.items() if key != "seconds"}
    if scenario.kind != "S7":
        ret["rate"] = operations / figures["seconds"]
    if "fair" in figures:
        ret["fair"] = figures["fair"] / figures["seconds"]
    for key in after:
        since = 0 if key in ("trips", "segments", "bytes") else before[key]
        ret[key] = (after[key] - since) / operations
    return ret


# ---- One store at one distance -------------------------------------------------------------------


class Place:
    """`distance`: milliseconds, "unix", or None for commands."""

    def __init__(self, store, distance, relay, found, args):
        self.store, self.distance, self.relay, self.args = store, distance, relay, args
        self.sides = [side for side in found if not args.side or side.name in args.side
                      or side.name.startswith(("Holdfast", "holdfast"))]
        self.rounds = {}  # (scenario, side's name): figures of each

    def title(self):
        name = self.store.name if self.store else "commands"
        data = f", data {'in memory' if self.store.data == 'memory' else 'on disk'}" \
            if self.store else ""
        where = {None: "", "unix": ", by a Unix socket", 0.0: ""}.get(
            self.distance, f", {self.distance} ms of network")
        return f"{name}{data}{where}"

    def play(self, scenario, side, size, warm=False):
        """If it fails it is not asked again."""
        try:
            figures = played(self, side, scenario, size)
        except (Failed, OSError) as error:
            self.args.fail(f"{self.title()}: {error}")
            self.sides.remove(side)
            return
        if not warm:
            self.rounds.setdefault((scenario.text, side.name), []).append(figures)

    def play_alone(self, scenario):
        """While no other side has a session: each tells the server now and then that it lives."""
        for side in [side for side in self.sides if side.can(scenario)]:
            self.play(scenario, side, scenario.size(self.args.seconds))
            side.dismiss()

    def warm_up(self, scenarios):
        java = any(side.name == "Curator" for side in self.sides)
        first = [(Scenario(text), JAVA_WARM if java else WARM)
                 for text in (("S1", "S3:16") if java else ("S1",))]
        for scenario, seconds in [*first, *((one, WARM) for one in scenarios)]:
            for side in [side for side in self.sides if side.can(scenario)]:
                self.play(scenario, side, seconds, warm=True)

    def run(self, scenarios):
        for scenario in [one for one in scenarios if one.kind == "S7"]:
            self.play_alone(scenario)
        timed = [one for one in scenarios if one.is_timed()]
        if timed and not self.args.quick:
            self.warm_up(timed)
        for number in range(self.args.rounds):
            for scenario in scenarios:
                if scenario.kind == "S7" or number >= scenario.rounds(self.args.rounds):
                    continue
                able = [side for side in self.sides if side.can(scenario)]
                for side in able if number % 2 == 0 else reversed(able):
                    self.play(scenario, side, scenario.size(self.args.seconds))

    def ratio(self, scenario, theirs, key):
        """How many times theirs ours is, the median of the rounds; None: there is none."""
        ours = self.rounds.get((scenario, "Holdfast"), [])
        if ours is theirs or not ours or len(ours) != len(theirs) or \
                not all(one.get(key) for one in theirs):
            return None
        return statistics.median(a[key] / b[key] for a, b in zip(ours, theirs))

    def results(self):
        for (scenario, name), rounds in self.rounds.items():
            yield self.result(scenario, name, rounds)
            if scenario == "S1" and ("S1+", "Holdfast") in self.rounds and name != "Holdfast":
                yield self.result("S1+", name, rounds)  # all others await it

    def result(self, scenario, name, rounds):
        row = {"store": self.store.name if self.store else "commands",
               "data": self.store.data if self.store else None,
               "distance": self.distance, "scenario": scenario, "side": name}
        for key in FIGURES:
            values = [one[key] for one in rounds if key in one]
            if len(values) == len(rounds):
                row[key] = float(f"{statistics.median(values):.4g}")
        for key, called in (("rate", "times"), ("fair", "times_fair")):
            if (times := self.ratio(scenario, rounds, key)) is not None:
                row[called] = float(f"{times:.3g}")
        return row


# ---- What is shown --------------------------------------------------------------------------------

COLUMNS = [("rate", "per s"), ("fair", "fair"), ("p50", "p50 us"), ("p99", "p99 us"), ("client_us", "client us"),
           ("server_us", "server us"), ("requests", "requests"), ("trips", "trips"),
           ("times", "Holdfast, times"), ("times_fair", "fair, times")]


def cell(row, key):
    value = row.get(key)
    if value is None:
        return "-"
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


# ---- All of it -------------------------------------------------------------------------------------


class Run:
    def __init__(self, args):
        self.args, self.rows, self.failed, self.left_out = args, [], [], []
        args.leave_out, args.fail = self.leave_out, self.fail

    def leave_out(self, name, why):
        text = f"{name} is left out: {why}"
        if text not in self.left_out:
            self.left_out.append(text)
            print(f"# {text}", file=sys.stderr)

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

    def of_store(self, store):
        time.sleep(max(0.0, store.ready - time.monotonic()))
        for number, distance in enumerate(self.distances(store)):
            scenarios = [one for one in self.args.scenarios
                         if number == 0 or one.kind not in NEAR]
            with contextlib.ExitStack() as stack:
                relay = None
                if distance not in ("unix", 0.0):
                    relay = stack.enter_context(
                        Relay(self.args.build, int(store.port), distance))
                port = relay.port if relay else "unix" if distance == "unix" else None
                found = sides.SIDES[store.name](store, port, self.args)
                self.play(Place(store, distance, relay, list(found), self.args), scenarios)

    def estimate(self, names):
        """Seconds."""
        total = 20.0
        for name in names:
            for number in range(1 if name == "sqlite" else len(self.args.distance)):
                total += 15.0
                for scenario in self.args.scenarios:
                    if number > 0 and scenario.kind in NEAR:
                        continue
                    players = sides.PLAYERS.get(name, {}).get(scenario.kind, 1)
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
            stores = start_stores(stack, names, self.args.data)
            for store in stores:
                self.of_store(store)
            if any(one.kind == "S6" for one in self.args.scenarios):
                found = list(sides.commands(stack, stores, self.args))
                self.play(Place(None, None, None, found, self.args),
                          [one for one in self.args.scenarios if one.kind == "S6"])

    def document(self, load):
        kernel = ".".join(platform.release().split(".")[:2])
        return {"version": 1, "cores": os.cpu_count(), "kernel": kernel,
                "load": [load, os.getloadavg()[0]], "network": "relay",
                "rounds": self.args.rounds, "seconds": self.args.seconds,
                "scenarios": {one.text: NAMES[one.kind] for one in self.args.scenarios},
                "left_out": self.left_out, "failed": self.failed, "results": self.rows}


def distance(text):
    return text if text == "unix" else float(text)


def read_arguments():
    parser = argparse.ArgumentParser(description="Holdfast beside its peers and floors.")
    parser.add_argument("-s", "--store", action="append", choices=list(STORES))
    parser.add_argument("-d", "--distance", action="append", type=distance)
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("-t", "--seconds", type=float, default=0.5, help="of one side's turn")
    parser.add_argument("--data", choices=["memory", "disk"])
    parser.add_argument("--side", action="append", help="only these beside Holdfast")
    parser.add_argument("--quick", action="store_true", help="without warming up")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--chart", type=pathlib.Path)
    parser.add_argument("-b", "--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("scenario", nargs="*")
    args = parser.parse_args()
    texts = ALL if args.scenario == ["all"] else args.scenario or SHORT
    try:
        args.scenarios = [Scenario(text) for text in texts]
    except ValueError as error:
        parser.error(str(error))
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
    try:
        sys.exit(main())
    except TROUBLE as error:
        sys.exit(f"measure.py: {error}")
