"""rounds - runs the sides of one store at one distance, in rounds, and summarizes the results.

In each round all sides run each scenario once, in a random order, so that disturbances of the machine
affect them alike.  Ratios are computed within a round.
"""
import statistics
import time

from peer import Failed
from scenarios import IDLE, Scenario
import sides

WARM = 0.2  # seconds of the warm-up round
JAVA_WARM = 2.0  # the JIT compiler of Java needs these
SETTLE = 0.3  # until a server has noticed that a hundred connections are closed
FIGURES = ["rate", "fair", "p50", "p99", "client_us", "server_us", "requests", "bytes_out", "trips",
           "segments"]


def rounded(value, digits=4):
    return float(f"{value:.{digits}g}")


def quartiles(values):
    """The quartiles; of two values, both."""
    first, _, last = statistics.quantiles(values, n=4, method="inclusive")
    return [rounded(first, 3), rounded(last, 3)]


# ---- One turn of one side ---------------------------------------------------------------------


def counted(store, side, relay):
    """All counters, up to now."""
    ret = {"client_us": sides.cpu_seconds(side.pids()) * 1e6}
    if store is not None and store.pids():
        seconds = sides.cpu_seconds(store.pids()) + store.reaped()
        ret |= {"server_us": seconds * 1e6} | store.counts()
    return ret | (relay.counts() if relay else {})


def played(place, side, scenario, size):
    """The figures of one turn; counters are per operation, in S7 per second."""
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
    if side.heavy and scenario.kind in sides.CROWDS:
        side.dismiss()
        time.sleep(SETTLE)
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
    """`store`: None for commands; `distance`: milliseconds, or "unix"; `until`: after
    this time no third round begins."""

    def __init__(self, store, distance, relay, found, args, until=float("inf")):
        self.store, self.distance, self.relay, self.args = store, distance, relay, args
        self.until = until
        self.sides = [side for side in found if not args.side or side.name in args.side
                      or side.name.startswith(("Holdfast", "holdfast"))]
        self.rounds = {}  # (scenario, side's name): figures of each

    def title(self):
        name = self.store.name if self.store else "commands"
        data = f", data {'in memory' if self.store.data == 'memory' else 'on disk'}" \
            if self.store else ""
        where = {"unix": ", by a Unix socket", 0.0: ""}.get(
            self.distance, f", {self.distance} ms of network")
        return f"{name}{data}{where}"

    def play(self, scenario, side, size, warm=False):
        """A side that fails is not run again."""
        try:
            figures = played(self, side, scenario, size)
        except (Failed, OSError) as error:
            self.args.fail(f"{self.title()}: {error}")
            self.sides.remove(side)
            return
        if not warm:
            self.rounds.setdefault((scenario.text, side.name), []).append(figures)

    def play_alone(self, scenario):
        """Runs while no other side has a session, because their heartbeats would count."""
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
            self.args.tell(f"{self.title()}: {scenario.text}")
            self.play_alone(scenario)
        timed = [one for one in scenarios if one.is_timed()]
        if timed and not self.args.quick:
            self.args.tell(f"{self.title()}: warming up")
            self.warm_up(timed)
        for number in range(self.args.rounds):
            if number >= 2 and time.monotonic() > self.until:
                break
            for scenario in scenarios:
                rounds = scenario.rounds(self.args.rounds)
                if scenario.kind == "S7" or number >= rounds:
                    continue
                self.args.tell(f"{self.title()}: {scenario.text}, round {number + 1} of {rounds}")
                able = [side for side in self.sides if side.can(scenario)]
                self.args.dice.shuffle(able)
                for side in able:
                    self.play(scenario, side, scenario.size(self.args.seconds))

    def ratios(self, scenario, theirs, key):
        """Our rate divided by theirs, in each round; empty if a side did not run it."""
        ours = self.rounds.get((scenario, "Holdfast"), [])
        if ours is theirs or len(ours) != len(theirs) or not all(one.get(key) for one in theirs):
            return []
        return [a[key] / b[key] for a, b in zip(ours, theirs)]

    def results(self):
        for (scenario, name), rounds in self.rounds.items():
            yield self.result(scenario, name, rounds)
            if scenario == "S1" and ("S1+", "Holdfast") in self.rounds and name != "Holdfast":
                yield self.result("S1+", name, rounds)  # all others await the release

    def result(self, scenario, name, rounds):
        row = {"store": self.store.name if self.store else "commands",
               "data": self.store.data if self.store else None,
               "distance": self.distance, "scenario": scenario, "side": name}
        if row["store"] == "redis" and row["data"] == "disk":
            row["fsync"] = self.args.fsync
        for key in FIGURES:
            values = [one[key] for one in rounds if key in one]
            if len(values) == len(rounds):
                row[key] = rounded(statistics.median(values))
        if len(rounds) > 1 and "rate" in row:
            row["rate_quartiles"] = quartiles([one["rate"] for one in rounds])
        for key, called in (("rate", "times"), ("fair", "times_fair")):
            times = self.ratios(scenario, rounds, key)
            if times:
                row[called] = rounded(statistics.median(times), 3)
            if len(times) > 1 and key == "rate":
                row["times_quartiles"] = quartiles(times)
        return row
