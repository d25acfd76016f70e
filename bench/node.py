#!/usr/bin/env -S python3 -B
"""node.py - locks in Node: the npm package, compared with a process for each lock and with npm's redlock.

    bench/node.py [-r ROUNDS] [-b BUILD]

On a file and on one Redis server: one lock after the other (acquire and release; p50 and p99 of each round),
100 locks at once, and 1,000 waiters in one helper.  All sides take turns in each round, forwards and then
backwards.  It shows medians of the rounds, and the median of the ratios of each round to the package.  npm
downloads redlock once, into the build folder; without it, that side is left out.  The last line has all
figures as JSON.
"""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from peer import install_redlock

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "test/server"))
import redis  # noqa: E402

COUNTS = {"one": {"helper": 500, "process": 60, "redlock": 500}, "many": 100}
CROWD = 1000


class Driver:
    def __init__(self, build, url, address, modules):
        argv = ["node", ROOT / "bench/peers/node_locks.js", ROOT / "bindings/node", build / "holdfast", url,
                address or ""]
        self.process = subprocess.Popen(argv, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "NODE_PATH": str(modules)}, bufsize=1)

    def ask(self, side, scenario, count):
        print(side, scenario, count, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{side} failed in {scenario}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


def measure(driver, sides, rounds):
    """{side: {figure: [one for each round]}}"""
    found = {side: {} for side in sides}
    for number in range(rounds):
        for side in sides if number % 2 == 0 else reversed(sides):
            one = driver.ask(side, "one", COUNTS["one"][side])
            many = driver.ask(side, "many", COUNTS["many"])
            figures = {"one p50": one["p50"], "one p99": one["p99"], "100 at once": many["all"],
                       "100 released": many["released"], "memory KB": many["memory"]}
            for name, value in figures.items():
                found[side].setdefault(name, []).append(value)
    crowd = driver.ask("helper", "crowd", CROWD)
    return found, crowd


def show(store, found, crowd):
    print(f"\n{store}")
    base = found["helper"]
    for side, figures in found.items():
        print(f"  {side}")
        for name, values in figures.items():
            if name == "memory KB" and side == "redlock":
                continue
            ratios = [value / own for value, own in zip(values, base[name])]
            unit = "KB" if "KB" in name else "us"
            print(f"    {name.removesuffix(' KB'):14} {statistics.median(values):10.0f} {unit}"
                  f"   {statistics.median(ratios):6.1f} times the package")
    print(f"  {CROWD} waiters in one helper: {crowd['each']:.0f} us for each turn, {crowd['memory']} KB")


def main():
    parser = argparse.ArgumentParser(description="Locks in Node, compared with others.")
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("-b", "--build", type=pathlib.Path, default=ROOT / "build")
    args = parser.parse_args()
    build = args.build.resolve()
    modules = build / "bench/node"
    modules.mkdir(parents=True, exist_ok=True)
    if why := install_redlock(modules):
        print(f"without redlock: {why}", file=sys.stderr)
    result = {}
    with tempfile.TemporaryDirectory(prefix="holdfast-bench.", dir="/var/tmp") as folder, redis.standalone() as server:
        runs = [("file", f"sqlite:{folder}/locks.db", None, ["helper", "process"]),
                ("redis", f"redis://{server.address}", server.address,
                 ["helper", "process", *(["redlock"] if why is None else [])])]
        for store, url, address, sides in runs:
            with contextlib.closing(Driver(build, url, address, modules / "node_modules")) as driver:
                found, crowd = measure(driver, sides, args.rounds)
            show(store, found, crowd)
            result[store] = {"sides": found, "crowd": crowd}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
