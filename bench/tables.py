"""tables - prints the results of bench/page.py as the tables of docs/performance.md.

    bench/tables.py tools/pictures/performance.json
"""
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools/pictures"))
import chart  # noqa: E402

LINES = (10, 100, 1000, 10000)
STORES = {"sqlite": "a file", "zookeeper": "ZooKeeper", "redis": "Redis", "postgres": "PostgreSQL",
          "mariadb": "MariaDB"}
HOME = {"zookeeper": "memory", "redis": "memory", "postgres": "disk", "mariadb": "disk", "sqlite": "disk"}


class Found:
    """The figures of a document."""

    def __init__(self, document):
        self.document = document
        self.rows = {}
        for row in document["results"]:
            key = row["store"], row["data"], row["distance"], row["scenario"], row["side"]
            self.rows[(*key, row.get("fsync"))] = row

    def get(self, key, store, scenario, side="Holdfast", distance=0.0, data=None, fsync=None):
        row = self.rows.get((store, data or HOME.get(store), distance, scenario, side, fsync), {})
        return row.get(key)

    def times(self, *where, **more):
        return short(self.get("times", *where, **more))

    def p50(self, *where, **more):
        return duration(self.get("p50", *where, **more))

    def rate(self, *where, **more):
        return thousands(self.get("rate", *where, **more))


def short(value):
    return "" if value is None else chart.short(value)


def thousands(value):
    return "" if value is None else f"{float(f'{value:.3g}'):,.0f}"


def duration(us):
    if us is None:
        return ""
    return f"{us:.0f} µs" if us < 995 else f"{us / 1000:.2g} ms" if us < 9950 else f"{us / 1000:.0f} ms"


def both(*values):
    return ", ".join(value or "-" for value in values) if any(values) else ""


def table(heading, rows):
    """Leaves out rows without a figure."""
    kept = [["", *heading], *(row for row in rows if any(row[1:]))]
    text = ["| " + " | ".join(row) + " |" for row in kept]
    return "\n".join([text[0], "|---" * len(kept[0]) + "|", *text[1:]])


# ---- The tables ------------------------------------------------------------------------------------

ZOOKEEPER = [
    ("a free lock", "S1"), ("... release not awaited", "S1+"),
    ("16 threads, a lock each", "S2:16"), ("2 sessions take turns", "S3:2"),
    ("... and hold it for 1 ms", "S3:2@1"), ("16 sessions take turns", "S3:16"),
    ("... and hold it for 1 ms", "S3:16@1"), ("... and hold it for 5 ms", "S3:16@5"),
    ("64 sessions take turns", "S3:64"), ("1,000 waiters of one process", "S4:1000"),
    ("16 sessions, 90 % readers", "S5:16"), ("a process until its first lock", "S6"),
]


def zookeeper(found):
    def row(label, scenario):
        def requests(side):
            value = found.get("requests", "zookeeper", scenario, side)
            return value and f"{value:.1f}"
        near = [found.times("zookeeper", scenario, "Curator", distance) for distance in (0.0, 0.5, 2.0)]
        return [label, *near, found.times("zookeeper", scenario, "kazoo"),
                both(requests("Holdfast"), requests("Curator"))]
    return table(["no network", "0.5 ms round trip", "2 ms", "times kazoo, no network",
                  "requests a turn: ours, Curator's"], [row(*one) for one in ZOOKEEPER])


def redis(found):
    where = ("0.0", "unix", "0.5", "2.0")

    def row(label, scenario, side, form=found.times):
        return [label, *(form("redis", scenario, side, distance if distance == "unix" else
                              float(distance)) for distance in where)]

    def tails(store, scenario, side, distance):
        return both(*(duration(found.get("p99", store, scenario, one, distance))
                      for one in ("Holdfast", side)))

    def hands(store, scenario, side, distance):
        return both(*(found.p50(store, scenario, one, distance) for one in ("Holdfast", side)))

    def fair(*place):
        return short(found.get("times_fair", *place))
    return table(["no network", "Unix socket", "0.5 ms round trip", "2 ms"], [
        row("a free lock, times a bare `SET NX PX` and its delete", "S1", "SET NX, delete"),
        row("... times npm's redlock", "S1", "redlock"),
        row("... times redlock, our release not awaited", "S1+", "redlock"),
        row("... times redis-py", "S1", "redis-py"),
        row("16 threads, a lock each, times the bare pair", "S2:16", "SET NX, delete"),
        row("... times redlock", "S2:16", "redlock"),
        row("8 sessions with a lock each, times the bare pair", "S9:8", "SET NX, delete"),
        row("16 sessions take turns, times redlock", "S3:16", "redlock"),
        row("... if all sessions count as the one with the fewest turns", "S3:16", "redlock", fair),
        row("... p99 of a hand-over, ours and redlock's", "S3:16", "redlock", tails),
        row("... p50, ours and a bare `RPUSH` to a waiter", "S3:16", "RPUSH, BLPOP", hands),
        row("1,000 waiters of one process, times redlock", "S4:1000", "redlock"),
    ])


def postgres(found):
    def row(label, scenario, side, form=found.times):
        return [label, *(form("postgres", scenario, side, distance) for distance in
                         (0.0, "unix", 0.5, 2.0))]

    def hands(store, scenario, side, distance):
        return both(*(found.p50(store, scenario, one, distance) for one in ("Holdfast", side)))
    return table(["no network", "Unix socket", "0.5 ms round trip", "2 ms"], [
        row("a free lock, times two bare updates, each committed", "S1", "two updates"),
        row("... the second not flushed, as ours", "S1", "lazy update"),
        row("... times `pg_advisory_lock`, which writes nothing", "S1", "advisory"),
        row("16 threads, a lock each, times `pg_advisory_lock`", "S2:16", "advisory"),
        row("16 sessions take turns, times `pg_advisory_lock`", "S3:16", "advisory"),
        row("8 sessions that hold it for 1 ms, a hand-over, and a bare `NOTIFY` with 8 listening",
            "S3:8@1", "NOTIFY", hands),
        row("... that hold it for no time", "S3:8", "NOTIFY", hands),
        row("16 sessions, a hand-over, and a bare `NOTIFY` with 16 listening", "S3:16", "NOTIFY", hands),
    ])


def sessions(found):
    counts = (1, 8, 32, 128)

    def cost(count):
        values = [found.get(key, "postgres", f"S9:{count}") for key in ("client_us", "server_us")]
        return duration(sum(values)) if all(values) else ""
    return table([str(count) for count in counts], [
        ["a second", *(found.rate("postgres", f"S9:{count}") for count in counts)],
        ["processor time of each, server and client", *map(cost, counts)],
        ["`pg_advisory_lock`, a second",
         *(found.rate("postgres", f"S9:{count}", "advisory") for count in counts)]])


def file(found):
    def of(form, *where):
        return form("sqlite", *where)
    one, many = (found.get("rate", "sqlite", scenario) for scenario in ("S1", "S2:16"))
    runs = {side: duration(found.get("p50", "commands", "S6", side))
            for side in ("holdfast run, sqlite", "flock(1)", "etcdctl lock")}
    return table([""], [
        ["a free lock, times two bare writes of SQLite", of(found.times, "S1", "two writes")],
        ["16 threads of one process, a lock each, times one thread", short(one and many and many / one)],
        ["... times 16 threads with two bare writes each", of(found.times, "S2:16", "two writes")],
        ["a hand-over between 2 processes, 16, 64",
         both(*(of(found.p50, f"S3:{count}") for count in (2, 16, 64)))],
        ["a byte through a pipe between as many",
         both(*(of(found.p50, f"S3:{count}", "pipe") for count in (2, 16, 64)))],
        ["`holdfast run`, until its command runs (`flock`, `etcdctl lock`)", both(*runs.values())]])


def lines(found):
    def row(label, store, side="Holdfast"):
        values = [found.get("p50", store, f"S8:{count}", side) for count in LINES]
        return [label, *(f"{value:,.0f}" if value else "" for value in values)]
    return table([f"{count:,}" for count in LINES], [
        row("Redis", "redis"), row("... redlock, no queue", "redis", "redlock"),
        row("PostgreSQL", "postgres"), row("... `pg_advisory_lock`", "postgres", "advisory"),
        row("a file", "sqlite"), row("ZooKeeper", "zookeeper"),
        row("... a bare `getChildren` of such a queue", "zookeeper", "getChildren"),
        row("... Curator", "zookeeper", "Curator"), row("... kazoo", "zookeeper", "kazoo")])


def idle(found):
    rows = []
    for store, sides in (("sqlite", ()), ("zookeeper", ("Curator", "kazoo")),
                         ("redis", ("redlock", "redis-py")), ("postgres", ("advisory",))):
        for side in ("Holdfast", *sides):
            figures = {key: found.get(key, store, "S7:1000", side)
                       for key in ("client_us", "server_us", "requests")}
            share = [f"{chart.short(value / 10000)} %" if value is not None else ""
                     for value in (figures["client_us"], figures["server_us"])]
            asked = figures["requests"]
            rows.append([f"{STORES[store]}, {side}", *share, "" if asked is None else short(asked)])
    return table(["of a processor: clients", "server", "requests a second"], rows)


def disk(found):
    """Data on a disk, compared with data in memory."""
    rows = []
    for store, fsync, sides in (("zookeeper", None, ("Curator", "create, delete")),
                                ("redis", "always", ("redlock", "SET NX, delete")),
                                ("redis", "everysec", ("redlock", "SET NX, delete")),
                                ("postgres", None, ("advisory", "two updates")),
                                ("sqlite", None, ("flock(2)", "two writes"))):
        place = {"data": "disk", "fsync": fsync}
        rates = [both(found.rate(store, scenario, **place), found.rate(store, scenario, data="memory"))
                 for scenario in ("S1", "S3:16")]
        times = both(*(found.times(store, "S1", side, **place) for side in sides))
        hand = both(found.p50(store, "S3:16", **place), found.p50(store, "S3:16", data="memory"))
        if found.get("rate", store, "S1", **place) is None:
            continue
        name = STORES[store] + (f", `appendfsync {fsync}`" if fsync else "")
        rows.append([name, *rates, hand, f"{times} ({', '.join(sides)})" if times else ""])
    return table(["a free lock, a second: disk, memory", "16 sessions take turns", "a hand-over",
                  "a free lock on a disk, times"], rows)


def spread(found):
    """The interquartile range of the rounds, in percent of the median."""
    widths = [100 * (row["times_quartiles"][1] - row["times_quartiles"][0]) / 2 / row["times"]
              for row in found.rows.values() if row.get("times") and row.get("times_quartiles")]
    if not widths:
        return ""
    return (f"Half of the rounds are within {statistics.median(widths):.0f} % of a ratio shown here "
            f"(median of {len(widths)} ratios; of nine in ten, within "
            f"{sorted(widths)[int(0.9 * (len(widths) - 1))]:.0f} %).")


TABLES = [("ZooKeeper, times a warm Curator", zookeeper), ("Redis", redis), ("PostgreSQL", postgres),
          ("PostgreSQL: sessions with a lock each, together", sessions), ("A file", file),
          ("Long queues: p50 of a hand-over in µs, by the number of waiters", lines),
          ("1,000 waiters, nothing happens", idle), ("Data on a disk", disk), ("Spread", spread)]


def markdown(document):
    found = Found(document)
    made = [(title, make(found)) for title, make in TABLES]
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in made
                       if text and text.count("\n") != 1)  # a heading alone is no table


if __name__ == "__main__":
    print(markdown(json.loads(pathlib.Path(sys.argv[1]).read_text())))
