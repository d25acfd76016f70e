#!/usr/bin/python3 -BP
"""python.py - a free lock from Python, compared with the same calls from C, filelock and redis-py.

    bench/python.py [-r ROUNDS] [-n COUNT] [-b BUILD]

Acquire and release, one process.  On a file: holdfast.Lock, the C library, filelock.FileLock.
On one Redis server: holdfast.Lock, the C library, redis.lock.Lock.  All take turns in each
round, forwards and then backwards.  It shows medians, and medians of the ratios of each round.  The last
line has all figures as JSON.

Runs with Debian's Python, which has the other two; with -P, because a file here has the name of one of
them.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import filelock
import redis

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = 0.2  # of a round in C
sys.path += [str(ROOT / "bindings/python/src"), str(ROOT / "test/server")]


def redis_server():
    """Loads test/server/redis.py, which has the same name as redis-py."""
    spec = importlib.util.spec_from_file_location("redis_server", ROOT / "test/server/redis.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def timed(lock):
    """Measures a lock in Python."""
    def measure(count):
        start = time.perf_counter()
        for _ in range(count):
            with lock:
                pass
        return (time.perf_counter() - start) / count * 1e6
    return measure


def by_c(driver):
    """Measures the C library in another process, see scene.h."""
    def measure(_count):
        driver.stdin.write(f"S1 {SECONDS}\n")
        said = driver.stdout.readline().split()
        return float(said[2]) / int(said[1]) * 1e6
    return measure


def contest(contestants, rounds, count):
    """{name: [microseconds of each round]}; the first one is a warm-up and left out."""
    found = {name: [] for name in contestants}
    for number in range(rounds + 1):
        names = list(contestants)
        for name in names if number % 2 else reversed(names):
            one = contestants[name](count)
            if number > 0:
                found[name].append(one)
    return found


def compare(what, url, other_name, other, args, results):
    import holdfast
    with holdfast.Client(url) as client, tempfile.NamedTemporaryFile() as shared, \
            subprocess.Popen([args.build / "bench/peers/holdfast", url, shared.name],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             bufsize=1) as driver:
        found = contest({"holdfast": timed(holdfast.Lock("bench", client=client)),
                         "C": by_c(driver), other_name: timed(other)}, args.rounds, args.count)
        driver.stdin.close()
    for name, rounds in found.items():
        ratio = statistics.median(a / b for a, b in zip(found["holdfast"], rounds))
        results[f"{what} {name}"] = {"us": round(statistics.median(rounds), 1),
                                     "holdfast_to_it": round(ratio, 2)}
        print(f"{what:<8}{name:<12}{statistics.median(rounds):>9.1f} us"
              f"{ratio:>9.2f} times as long is holdfast in Python")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-r", "--rounds", type=int, default=10)
    parser.add_argument("-n", "--count", type=int, default=1000)
    parser.add_argument("-b", "--build", type=pathlib.Path, default=ROOT / "build")
    args = parser.parse_args()
    os.environ["HOLDFAST_LIBRARY"] = str(args.build / "libholdfast.so")
    results = {}
    with tempfile.TemporaryDirectory(prefix="holdfast-bench.") as folder:
        compare("file", f"sqlite:{folder}/locks.db", "filelock",
                filelock.FileLock(f"{folder}/file.lock"), args, results)
    server = redis_server().standalone()
    try:
        client = redis.Redis(unix_socket_path=str(server.path))
        compare("redis", f"redis+unix:{server.path}?ttl=3s", "redis-py",
                client.lock("bench-other", timeout=3), args, results)
    finally:
        server.stop()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
