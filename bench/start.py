#!/usr/bin/env -S python3 -B
"""start.py - what a command under a lock costs, compared with `flock`, on the file store.

    bench/start.py [-n TIMES] [--json] [HOLDFAST...]

HOLDFAST are the commands to measure, by default build/holdfast; name two builds to compare them.  All take
turns in one run:

    true        the command alone, as `env` would start it
    flock       flock F true
    version     holdfast --version: the time to get into main()
    run         holdfast run x -- true, with a free lock

"p10" and "median" are the time in ms from the start until the end was seen, and "ratio" is the median
divided by flock's.  "cpu" is the median of the processor time of all its processes: on a busy machine it
says more than the clock.

Then the memory, in KiB, of a holder and of a waiter: of `run`, of its guardian, and of a flock.  "rss" is
all resident memory of a process, "pss" its share of that, "own" is memory that no other process has, and
"locked" cannot be swapped out.

With --json, the last line has all figures as JSON.
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
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATIENCE = 10.0
SLEEP = "600"
FIELDS = {"rss": ["Rss"], "pss": ["Pss"], "own": ["Private_Clean", "Private_Dirty"],
          "locked": ["Locked"]}


def run_once(argv, env):
    """Milliseconds of real time and of processor time."""
    begin = time.perf_counter_ns()
    pid = os.posix_spawn(argv[0], argv, env)
    _, status, usage = os.wait4(pid, 0)
    took = time.perf_counter_ns() - begin
    if status != 0:
        sys.exit(f"{' '.join(argv)}: ended with {os.waitstatus_to_exitcode(status)}")
    return took / 1e6, (usage.ru_utime + usage.ru_stime) * 1e3


def take_turns(cases, times):
    """{name: [(ms, cpu), ...]}; the first round is a warm-up."""
    found = {name: [] for name in cases}
    for number in range(times + 1):
        for name, (argv, env) in cases.items():
            figures = run_once(argv, env)
            if number > 0:
                found[name].append(figures)
    return found


def sum_up(found):
    flock = statistics.median(ms for ms, _ in found["flock"])
    times = {}
    for name, runs in found.items():
        clock = sorted(ms for ms, _ in runs)
        median = statistics.median(clock)
        times[name] = {"p10": clock[len(clock) // 10], "median": median,
                       "ratio": median / flock, "cpu": statistics.median(c for _, c in runs)}
    return times


def memory_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return {name: sum(kib[field] for field in fields) for name, fields in FIELDS.items()}


def children_of(pid):
    return [int(word) for word in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def await_true(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"start.py: {what} took too long")
        time.sleep(0.01)


@contextlib.contextmanager
def started(argv, env):
    process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def is_asleep(pid):
    """The process sleeps, and so do all its children."""
    return all(state_of(one) == "S" for one in [pid, *children_of(pid)])


def measure_flock(folder, env):
    argv = ["/usr/bin/flock", f"{folder}/held"]
    with started([*argv, "sleep", SLEEP], env) as holder:
        await_true("flock", lambda: children_of(holder) and is_asleep(holder))
        with started([*argv, "true"], env) as waiter:
            await_true("a flock that waits", lambda: is_asleep(waiter))
            time.sleep(0.2)  # until it is in the system call
            figures = {"holding": memory_of(holder), "waiting": memory_of(waiter)}
        for child in children_of(holder):  # flock does not end its command
            os.kill(child, 15)
    return figures


def measure_run(holdfast, env):
    def line():
        shown = subprocess.run([holdfast, "list", "--json", "memory"], env=env, text=True,
                               capture_output=True, check=False)
        return shown.stdout.count('"pid"')

    def pair_of(pid):
        guardian, = children_of(pid)
        return {"run": memory_of(pid), "guardian": memory_of(guardian)}

    argv = [holdfast, "run", "-q", "memory", "--"]
    with started([*argv, "sleep", SLEEP], env) as holder:
        await_true("run", lambda: line() == 1)
        with started([*argv, "true"], env) as waiter:
            await_true("a run that waits", lambda: line() == 2 and is_asleep(waiter))
            return {f"{part} {of}": figures
                    for part, pid in (("holding", holder), ("waiting", waiter))
                    for of, figures in pair_of(pid).items()}


def show_table(title, columns, rows, digits):
    width = max(len(name) for name in [title, *rows])
    print(f"{title:<{width}}" + "".join(f"{column:>9}" for column in columns))
    for name, row in rows.items():
        print(f"{name:<{width}}" + "".join(f"{row[c]:>9.{digits}f}" for c in columns))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2].strip())
    parser.add_argument("-n", dest="times", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("holdfast", nargs="*", default=[str(ROOT / "build/holdfast")])
    args = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="holdfast-start-") as folder:
        env = {"PATH": "/usr/bin:/bin", "HOME": folder}
        cases = {"true": (["/usr/bin/true"], env),
                 "flock": (["/usr/bin/flock", f"{folder}/F", "true"], env)}
        memory = {f"flock {part}": figures
                  for part, figures in measure_flock(folder, env).items()}
        for number, path in enumerate(args.holdfast):
            holdfast = str(pathlib.Path(path).resolve())
            tag = path if len(args.holdfast) > 1 else ""
            own = env | {"HOLDFAST_URL": f"sqlite:{folder}/store{number}/locks.db"}
            cases[f"{tag} version".strip()] = ([holdfast, "--version"], own)
            cases[f"{tag} run".strip()] = ([holdfast, "run", "x", "--", "true"], own)
            memory |= {f"{tag} {part}".strip(): figures
                       for part, figures in measure_run(holdfast, own).items()}
        with open(os.devnull, "w", encoding="ascii") as null:
            said = os.dup(1)
            os.dup2(null.fileno(), 1)  # the output of --version
            times = sum_up(take_turns(cases, args.times))
            os.dup2(said, 1)
    show_table("ms", ["p10", "median", "ratio", "cpu"], times, 2)
    print()
    show_table("KiB", list(FIELDS), memory, 0)
    if args.json:
        print(json.dumps({"times": times, "memory": memory}))


main()
