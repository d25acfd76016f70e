#!/usr/bin/env -S python3 -B
"""bench.py - bench: figures that make sense, and it never disturbs other clients."""
import re
from hf import *

LOCK = "holdfast-bench"
SCENARIOS = {"free": ("take", "give_back"), "handover": ("handover", "wait")}


def measured(t, *args, **more):
    done = t.run("bench", "--json", "--time", "0.2s", *args, **more)
    t.equal((done.code, done.err), (0, ""), "bench")
    return json.loads(done.out)


def is_sound(t, figures):
    """A tally, as it is written."""
    t.true(figures["count"] > 0, "something was measured")
    in_order = [figures[key] for key in ("p50_ns", "p90_ns", "p99_ns", "max_ns")]
    t.true(0 < in_order[0] and in_order == sorted(in_order), f"not in order: {figures}")


def all_are_sound(t, bench, clients):
    t.equal(bench["ended"], "time")
    is_sound(t, bench["round_trip"])
    t.equal([part["scenario"] for part in bench["scenarios"]], list(SCENARIOS))
    for part, count in zip(bench["scenarios"], (1, clients)):
        t.equal((part["clients"], part["ms"]), (count, 200))
        t.true(abs(part["per_second"] - part["turns"] / 0.2) <= 1, "the rate is that of the turns")
        for what in SCENARIOS[part["scenario"]]:
            is_sound(t, part[what])
            t.true(part[what]["count"] <= part["turns"], f"as many {what} as turns")


def clients_queue(t, count):
    """Until so many places of the bench are in line; the lock is given back all the time."""
    def places():
        lock = t.show(LOCK)
        return len(lock["holders"] + lock["waiters"]) >= count
    t.until(f"{count} clients are in line", places)


@case
def figures_of_a_file(t):
    all_are_sound(t, measured(t), 4)
    bench = measured(t, "--clients", "2", "mine")
    all_are_sound(t, bench, 2)
    t.equal((bench["name"], bench["store"]), ("mine", t.env["HOLDFAST_URL"]))


@case
def text_for_people(t):
    name = "x" * 200
    done = t.run("bench", "--time", "0.1", "--clients", "3", name)
    t.equal((done.code, done.err), (0, ""))
    for part in ("One client takes a free lock", "3 clients hand one lock on", "p99", "  take  ",
                 "  hand-over  ", "####", "answers a question in"):
        t.contains(done.out, part)
    bars = re.findall(r"^  (?:to|longer) +[\d.]+ [num]?s +([\d.]+) %", done.out, re.M)
    t.true(len(bars) >= 4 and abs(sum(map(float, bars)) - 200) < 2, f"the bars are not all there is: {bars}")
    for line in done.out.splitlines():
        t.true(len(line) <= 80, f"wider than a terminal: {line!r}")


@case
def a_lock_in_use_is_left_alone(t):
    holder = t.hold(LOCK)
    done = t.run("bench")
    t.equal((done.code, done.out), (75, ""))
    t.one_line(done.err)
    t.contains(done.err, f':{holder.pid} holds "{LOCK}"')
    measured(t, "another")
    t.end(holder)


def bench_ends_for_another_client(t, bench, parts):
    """Another client queues, gets the lock in its turn, and the bench stops."""
    t.equal(t.run("run", "-w", "20", LOCK, "sleep", "0.3").code, 0)
    done = t.finish(bench)
    t.equal(done.code, 75)
    t.one_line(done.err)
    t.contains(done.err, "stopped")
    told = json.loads(done.out)
    t.equal((told["ended"], len(told["scenarios"])), ("company", parts))


@case
def bench_stops_when_another_client_comes(t):
    bench = t.start("bench", "--json", "--time", "30s")
    clients_queue(t, 1)
    bench_ends_for_another_client(t, bench, 1)


@case
def bench_stops_when_another_client_joins_many(t):
    bench = t.start("bench", "--json", "--clients", "16", "--time", "1.5s")
    clients_queue(t, 3)
    bench_ends_for_another_client(t, bench, 2)


@case
def ctrl_c_prints_the_figures_so_far(t):
    for sig in (signal.SIGINT, signal.SIGTERM):
        bench = t.start("bench", "--json", "--time", "60s")
        clients_queue(t, 1)
        time.sleep(0.2)
        done = t.end(bench, sig)
        t.equal((done.code, done.err), (-sig, ""))
        t.true(done.seconds < 30, "it ended early")
        told = json.loads(done.out)
        t.equal(told["ended"], "signal")
        is_sound(t, told["scenarios"][0]["take"])
        t.equal(t.list(), [], "left in line")


@case
def a_killed_bench_leaves_nothing_in_the_queue(t):
    for args, count in (("--time", "60s"), 1), (("--clients", "8", "--time", "1s"), 3):
        bench = t.start("bench", *args)
        clients_queue(t, count)
        t.end(bench, signal.SIGKILL)
        t.until("its clients have ended", lambda: not t.processes(), 20)
        t.equal(t.list(), [], "left in line")


@case
def bad_options_and_stores_are_refused(t):
    for args, code, says in (
            (["--clients", "1"], 64, "from 2 to 64"), (["--clients", "65"], 64, "from 2 to 64"),
            (["--time", "0"], 64, "above 0"), (["--time", "61s"], 64, "60s at most"), (["a/b"], 64, "'/'"),
            (["--url", "memory:a"], 64, "one process"),
            (["--url", f"sqlite:{t.folder}/no/folder/x.db"], 69, "no/folder")):
        done = t.run("bench", *args)
        t.equal((done.code, done.out), (code, ""), args)
        t.one_line(done.err)
        t.contains(done.err, says)


@case
def figures_of_a_server(t):
    """It is young, and grants nothing for a while: that is nobody in line."""
    with a_redis(t) as server:
        url = f"redis://{server.address}?ttl=1s"
        all_are_sound(t, measured(t, "--url", url), 4)
        bench = t.start("bench", "--time", "30s", "--url", url)
        t.until("it is in line", lambda: json.loads(t.run("show", "--json", "--url", url, LOCK).out)["holders"])
        server.kill()
        done = t.finish(bench)
        t.equal(done.code, 69)
        t.contains(done.out, "One client takes a free lock")
        t.one_line(done.err)


main()
