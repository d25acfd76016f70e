#!/usr/bin/env -S python3 -B
"""history.py - history: the default, and --keep."""
import getpass
import json
import re
import socket
from hf import *


def events(t, *words):
    done = t.run("history", *words)
    t.equal((done.code, done.err), (0, ""))
    return [line.split()[1] for line in done.out.splitlines()]


def turn_off(t):
    done = t.run("history", "--keep", "0")
    t.equal((done.code, done.err), (0, ""))
    t.contains(done.out, "keeps no history")
    done = t.run("history")
    t.equal((done.code, done.out), (69, ""))
    t.contains(done.err, "holdfast history --keep 1000")


@case
def a_file_keeps_history_by_default(t):
    t.equal(t.run("history").out, "")
    t.run("run", "a", "true")
    t.equal(events(t), ["granted", "released"])


@case
def a_file_made_without_history_keeps_none(t):
    url = t.env["HOLDFAST_URL"]
    t.run("run", "--url", url + "?history=0", "a", "true")
    t.run("run", "a", "true")
    t.equal(t.run("history").code, 69)


@case
def a_file_keeps_as_many_entries_as_configured(t):
    url = t.env["HOLDFAST_URL"]
    t.run("run", "--url", url + "?history=3", "a", "true")
    for _ in range(3):
        t.run("run", "a", "true")
    t.equal(events(t), ["released", "granted", "released"])


@case
def keep_turns_it_off_and_on(t):
    t.run("run", "a", "true")
    turn_off(t)
    t.run("run", "a", "true")
    done = t.run("history", "--keep", "3")
    t.equal((done.code, done.err), (0, ""))
    t.contains(done.out, "keeps the last 3 events")
    t.equal(events(t), [])
    for _ in range(3):
        t.run("run", "a", "true")
    t.equal(events(t), ["released", "granted", "released"])


@case
def keep_of_a_url_that_says_otherwise(t):
    t.env["HOLDFAST_URL"] += "?history=7&force=1"
    done = t.run("history", "--keep", "5")
    t.equal((done.code, done.err), (0, ""))
    t.true("?" not in done.out, done.out)
    t.env["HOLDFAST_URL"] = t.env["HOLDFAST_URL"].split("?")[0]
    for _ in range(5):
        t.run("run", "a", "true")
    t.equal(len(events(t)), 5)


@case
def keep_before_there_is_a_file(t):
    turn_off(t)
    t.run("run", "a", "true")
    t.equal(t.run("history").code, 69)


@case
def keep_works_on_the_default_file(t):
    del t.env["HOLDFAST_URL"]
    t.env["XDG_STATE_HOME"] = str(t.folder)
    t.run("run", "a", "true")
    t.equal(events(t), ["granted", "released"])
    turn_off(t)
    t.env["HOLDFAST_URL"] = "sqlite:?history=2"
    t.run("run", "a", "true")
    t.run("run", "a", "true")
    del t.env["HOLDFAST_URL"]
    t.equal(events(t), ["granted", "released"])


@case
def an_entry_names_who_broke_the_lock(t):
    holder = t.hold("a")
    done = t.run("break", "--yes", "a")
    t.equal(done.code, 0)
    t.finish(holder)
    line = [line for line in t.run("history").out.splitlines() if " broken " in line][0]
    record = [r for r in map(json.loads, t.run("history", "--json").out.splitlines()) if r["event"] == "broken"][0]
    t.true(re.fullmatch(rf"by {getpass.getuser()}@{socket.gethostname()}:\d+", record["reason"]), record["reason"])
    t.true(record["reason"] != f"by {getpass.getuser()}@{socket.gethostname()}:{holder.pid}", "by another")
    t.true(line.endswith(": " + record["reason"]), line)


@case
def some_stores_cannot_keep_it(t):
    for url in ("zk://127.0.0.1:1", "memory:x"):
        done = t.run("history", "--keep", "10", "--url", url)
        t.equal((done.code, done.out), (64, ""))
        t.contains(done.err, "keeps no history")
        t.contains(done.err, url.split(":")[0])


@case
def keep_refuses_bad_combinations(t):
    for value in ("x", "-1", "100001", "", "1e3"):
        done = t.run("history", "--keep", value)
        t.equal(done.code, 64)
        t.contains(done.err, "a number from 0 to 100000")
    for words in (["a"], ["--since", "5m"], ["--json"]):
        done = t.run("history", "--keep", "5", *words)
        t.equal(done.code, 64)
        t.contains(done.err, "--keep")


main()
