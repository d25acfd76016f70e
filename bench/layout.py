#!/usr/bin/env -S python3 -B
"""layout.py - two layouts of a line in PostgreSQL, by SQL alone.

    bench/layout.py [-b BUILD]

The tables as they are (schema.sql) beside a whole line in one row of arrays
(postgres/one_row.sql), each with free locks, with processes that take turns, with long lines
that are joined, and with a lock that is passed on in them.  The server has its data on a disk,
with fsync, and is set up as it is shipped.  The last line has all figures as JSON.
"""
import argparse
import json
import pathlib
import sys

from peer import ROOT, TROUBLE, Peer, Postgres, medians
import postgres

PROCESSES = 8
SIZES = [("free", 0, 300), ("turns", PROCESSES, 60), ("line", 10, 100), ("line", 100, 100),
         ("line", 1000, 100), ("pass", 10, 100), ("pass", 100, 100), ("pass", 1000, 100)]


def compare(server, args):
    database = "layout"
    server.createdb(database, schema=True)
    with server.connect(database, postgres.USER) as link:
        link.run((ROOT / "bench/postgres/one_row.sql").read_text())
        link.run("CREATE FUNCTION holdfast.open(text) RETURNS void LANGUAGE sql AS "
                 "$$ SELECT holdfast.hello(2, $1, 1, 30000, true, '') $$")
    conninfo = server.conninfo.replace("dbname=test", f"dbname={database}")
    found = {}
    print(f"{'layout':<15}{'rows p50':>10}{'per s':>8}{'one row p50':>13}{'per s':>8}"
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
    return found


def main():
    parser = argparse.ArgumentParser(description="Two layouts of a line in PostgreSQL.")
    parser.add_argument("-b", "--build", type=pathlib.Path, default=ROOT / "build")
    args = parser.parse_args()
    args.programs = args.build / "bench/postgres"
    with Postgres() as server:
        found = compare(server, args)
    print("\n" + json.dumps(found, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TROUBLE as error:
        sys.exit(f"layout.py: {error}")
