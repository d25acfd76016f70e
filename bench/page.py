#!/usr/bin/env -S python3 -B
"""page.py - measure everything in docs/performance.md, and print its tables.

    bench/page.py [--minutes N] [--pin] [-s STORE]... [-b BUILD] [--json FILE]
                  [--chart FILE.svg] [PART...]

`make bench-page`.  Writes tools/pictures/performance.json and docs/pictures/performance.svg, and prints the
tables, to be copied into the page.  Takes 20 minutes on two cores with nothing else running; a slower
machine does fewer rounds.  With PARTs only these.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import tables
from tables import chart

ROOT = pathlib.Path(__file__).resolve().parent.parent
FREE = ["S1", "S1+", "S2:16"]
TURNS = ["S3:2", "S3:2@1", "S3:16", "S3:16@1", "S3:16@5", "S3:64"]
CROWDS = ["S4:1000", "S5:16"]
LINES = [f"S8:{count}" for count in tables.LINES]
SERVERS = ["zookeeper", "redis", "postgres"]
BESIDE = [word for side in ("Curator", "create, delete", "ping", "redlock", "SET NX, delete",
                            "RPUSH, BLPOP", "advisory", "two updates", "lazy update", "NOTIFY")
          for word in ("--side", side)]
PARTS = {  # share of the time, stores, and further arguments of measure.py
    "near": (0.46, ["sqlite", *SERVERS], ["-d", "0", *FREE, *TURNS, *CROWDS, "S6", "S7:1000",
                                          *LINES, "S9:8"]),
    "far": (0.2, SERVERS, [*BESIDE, "-d", "2", *FREE, *TURNS, *CROWDS, "S9:8"]),
    "half": (0.1, SERVERS, [*BESIDE, "-d", "0.5", *FREE, "S3:2", "S3:16", "S5:16"]),
    "unix": (0.07, ["redis", "postgres"], ["-d", "unix", *FREE, "S3:16"]),
    "sessions": (0.05, ["postgres"], ["-d", "0", "S9:1", "S9:32", "S9:128", "S3:8", "S3:8@1"]),
    "disk": (0.07, ["zookeeper", "redis"], [*BESIDE, "-d", "0", "--data", "disk", "S1", "S3:16"]),
    "everysec": (0.02, ["redis"], [*BESIDE, "-d", "0", "--data", "disk", "--fsync", "everysec",
                                   "S1", "S3:16"]),
    "memory": (0.03, ["sqlite", "postgres"], ["-d", "0", "--data", "memory", "S1", "S3:16"]),
}
ROUNDS = ["-r", "5", "-t", "0.2", "--progress"]


def measured(name, args, folder):
    """The document of one part, or None if it has none of the stores."""
    share, stores, words = PARTS[name]
    stores = [store for store in stores if not args.store or store in args.store]
    if not stores:
        return None
    chosen = [word for store in stores for word in ("-s", store)]
    more = (["--pin"] if args.pin else []) + (["--quick", "-r", "1"] if args.quick else [])
    if args.quick:  # only the first scenario
        words = words[:1 + next(at for at, word in enumerate(words) if re.match(r"S\d", word))]
    print(f"# {name}", file=sys.stderr, flush=True)
    subprocess.run([ROOT / "bench/measure.py", "-b", args.build, *ROUNDS, *more, "--limit",
                    str(60 * args.minutes * share), "--json", folder / name, *chosen, *words],
                   stdout=subprocess.DEVNULL, check=False)  # the document has the failures
    if not (folder / name).exists():
        sys.exit(f"page.py: {name} was not measured")
    return json.loads((folder / name).read_text())


def joined(documents):
    """Merged into one; common fields are from the first."""
    ret = documents[0] | {"results": [row for one in documents for row in one["results"]]}
    for key in ("failed", "left_out"):
        ret[key] = sorted({text for one in documents for text in one[key]})
    for key in ("scenarios", "file_systems"):
        ret[key] = {name: value for one in documents for name, value in one[key].items()}
    return ret


def read_arguments():
    parser = argparse.ArgumentParser(description="All that docs/performance.md shows.")
    parser.add_argument("--minutes", type=float, default=19)
    parser.add_argument("-s", "--store", action="append")
    parser.add_argument("--pin", action="store_true")
    parser.add_argument("--quick", action="store_true", help="one scenario, once, to try it")
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "tools/pictures/performance.json")
    parser.add_argument("--chart", type=pathlib.Path,
                        default=ROOT / "docs/pictures/performance.svg")
    parser.add_argument("-b", "--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("part", nargs="*", help=f"of {', '.join(PARTS)}")
    args = parser.parse_args()
    if not set(args.part) <= PARTS.keys():
        parser.error(f"a PART is one of {', '.join(PARTS)}")
    return args


def main():
    args = read_arguments()
    with tempfile.TemporaryDirectory() as folder:
        documents = [measured(name, args, pathlib.Path(folder)) for name in args.part or PARTS]
    document = joined([one for one in documents if one is not None])
    args.json.write_text(chart.dump(document))
    args.chart.write_text(chart.drawn(document))
    print(tables.markdown(document))
    print("\n".join(document["failed"]), file=sys.stderr)
    return 1 if document["failed"] else 0


sys.exit(main())
