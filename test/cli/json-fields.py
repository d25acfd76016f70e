#!/usr/bin/env -S python3 -B
"""json-fields.py - every field that --json writes stands in docs/json.md."""
import json
import re
import signal
from hf import *

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "json.md"


def fields(heading):
    """The fields that one section of the page lists."""
    text = PAGE.read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found = set()
    for row in re.findall(r"^\| (`[^|]*) \|", text, re.M):
        found |= set(re.findall(r"`([^`]+)`", row))
    return found


PLACE, LOCK = fields("A place"), fields("A lock")


def first_line(t, process):
    line = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    t.finish(process)
    return json.loads(line)


@case
def locks_places_and_events(t):
    holder = t.hold("a", "--note", "x")
    waiter = t.start("run", "a", "true")
    t.waiting("a", 1)
    for lock in (json.loads(t.run("list", "--json").out)[0], json.loads(t.run("show", "--json", "a").out)):
        t.equal(set(lock), LOCK)
        t.equal(set(lock["holders"][0]), PLACE - {"left"})
        t.equal(set(lock["waiters"][0]), PLACE - {"left"})
    event = PLACE - {"left"} | fields("An event of `watch`")
    t.equal(set(first_line(t, t.start("watch", "--json", "a"))), event)
    t.equal(set(first_line(t, t.start("watch", "--json"))), event)
    leader = first_line(t, t.start("elect", "--observe", "--json", "a"))
    t.equal(set(leader), fields("A change of the leader"))
    t.equal(set(leader["leader"]), PLACE - {"left"})
    t.end(holder)
    t.finish(waiter)


@case
def leftovers_of_a_command(t):
    holder = t.start("run", "a", "--", "sh", "-c", "sleep 1000 & exit 0", start_new_session=True)
    lock = t.until("the command has ended", lambda: [
        lock for lock in t.list() if "left" in lock["holders"][0]])[0]
    t.equal(set(lock["holders"][0]), PLACE)
    t.equal(set(lock["holders"][0]["left"]), {"since", "count", "processes"})
    t.equal(set(lock["holders"][0]["left"]["processes"][0]), {"pid", "name"})
    os.kill(lock["holders"][0]["left"]["processes"][0]["pid"], signal.SIGKILL)
    t.finish(holder)


@case
def the_history(t):
    t.env["HOLDFAST_URL"] += "?history=100"
    t.equal(t.run("run", "a", "true").code, 0)
    lines = [json.loads(line) for line in t.run("history", "--json").out.splitlines()]
    t.equal([line["event"] for line in lines], ["granted", "released"])
    place = {"token", "kind", "slot", "host", "user", "pid", "command", "note"}
    for line in lines:
        t.equal(set(line), fields("A record of `history`"))
        t.true(place <= set(line), "as of a place")


@case
def figures_of_bench(t):
    bench = json.loads(t.run("bench", "--json", "--time", "0.05s", "--clients", "2").out)
    t.equal(set(bench), fields("`bench`"))
    tally, of_scenarios = fields("How long it took"), set()
    t.equal(set(bench["round_trip"]), tally)
    for scenario in bench["scenarios"]:
        of_scenarios |= set(scenario)
        for value in scenario.values():
            t.true(not isinstance(value, dict) or set(value) == tally, f"{value} is no tally")
    t.equal(of_scenarios, fields("A scenario of `bench`"))


@case
def findings_and_the_version(t):
    for finding in json.loads(t.run("doctor", "--json").out):
        t.equal(set(finding), fields("A finding of `doctor`"))
    t.equal(set(json.loads(t.run("version", "--json").out)), fields("`version`"))


main()
