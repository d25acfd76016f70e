#!/usr/bin/env -S python3 -B
"""look.py - list, show, watch and break."""
import getpass
import pty
import re
import socket
from hf import *


@case
def an_empty_store_lists_nothing(t):
    done = t.run("list")
    t.equal((done.code, done.out, done.err), (0, "", ""))
    t.equal(t.list(), [])


@case
def list_names_holder_and_queue(t):
    holder = t.hold("nightly")
    other = t.hold("other", "--slots", "2")
    second = t.hold("other", "--slots", "2")
    waiter = t.start("run", "nightly", "true")
    t.waiting("nightly", 1)
    lines = t.run("list").out.splitlines()
    t.equal(lines[0].split(), ["NAME", "KIND", "HOLDER", "HELD", "WAITING", "COMMAND"])
    who = f"{getpass.getuser()}@{socket.gethostname()}:{holder.pid}"
    t.true(re.match(rf"nightly +mutex +{re.escape(who)} +\d+s +1 +sh -c echo", lines[1]), lines[1])
    t.contains(lines[2], f":{other.pid} +1 ")
    t.equal(len(lines), 3)
    t.equal([line.split()[0] for line in t.run("list", "ni*").out.splitlines()], ["NAME", "nightly"])
    t.equal(t.run("list", "x*").out, "")
    t.equal([lock["name"] for lock in t.list()], ["nightly", "other"])
    t.equal(t.run("completion", "names").out.split(), ["nightly", "other"])
    for process in (holder, other, second):
        t.end(process)
    t.finish(waiter)


@case
def show_prints_holders_and_queue(t):
    holder = t.hold("a", "--note", 'for "Ana" \\ grün')
    waiter = t.start("run", "a", "--", "echo", "x")
    t.waiting("a", 1)
    text = t.run("show", "a")
    t.equal(text.code, 0)
    t.true(re.search(r'^holds +mutex .* for "Ana" \\ grün$', text.out, re.M), text.out)
    t.true(re.search(rf"^waits +mutex +\S+:{waiter.pid} .* echo x", text.out, re.M), text.out)
    lock = t.show("a")
    entry = lock["holders"][0]
    t.equal((lock["name"], len(lock["holders"]), len(lock["waiters"])), ("a", 1, 1))
    t.equal((entry["pid"], entry["host"], entry["user"], entry["kind"], entry["note"]),
            (holder.pid, socket.gethostname(), getpass.getuser(), "mutex", 'for "Ana" \\ grün'))
    t.true(int(lock["waiters"][0]["token"]) > int(entry["token"]) > 0, "tokens")
    t.true(0 <= entry["age_ms"] < 60000, "age")
    t.end(holder)
    t.finish(waiter)


@case
def watch_without_a_name_prints_events_of_all_locks(t):
    first = t.hold("a")
    watch = t.start("watch")
    t.true(re.match(rf"\S+ granted +a: sh .*pid {first.pid}", event_line(watch)), "as it stands")
    second = t.hold("b", "--slots", "2")
    t.true(re.match(rf"\S+ granted +b: sh .*pid {second.pid}", event_line(watch)), "another")
    waiter = t.start("run", "a", "true")
    t.contains(event_line(watch), "entered  a: ")
    t.end(first)
    t.contains(event_line(watch), "released a: ")
    t.finish(waiter)
    t.end(second)
    t.end(watch)


@case
def show_of_a_free_lock_exits_1(t):
    done = t.run("show", "a")
    t.equal((done.code, done.out), (1, ""))
    t.one_line(done.err)
    done = t.run("show", "--json", "a")
    t.equal((done.code, json.loads(done.out)), (1, {"name": "a", "holders": [], "waiters": []}))


@case
def commands_are_shown_to_their_owner_as_ps_shows_them(t):
    words = ["sh", "-c", "echo >$D/up; sleep 1000", "-pX", "DB_PASS=X", "a b", "日本", "x\ty"]
    holder = t.start("run", "a", "--", *words)
    t.until("it is up", t.path("up").exists)
    t.equal(t.show("a")["holders"][0]["command"], " ".join(words))
    t.contains(t.run("show", "a").out, "sh -c echo >$D/up; sleep 1000 -pX DB_PASS=X a b ")
    t.contains(t.run("doctor").out, "only its owner can read")
    t.end(holder)


@case
def long_and_nasty_commands_are_cut_and_cleaned(t):
    holder = t.start("run", "--note", "n\x1b[2J\nn", "a", "--", "sh", "-c",
                     "echo >$D/up; sleep 1000", "x\x1b[31m\n" * 500, b"\xff\xfe")
    t.until("it is up", t.path("up").exists)
    for args in (["list"], ["show", "a"]):
        out = t.run(*args).out
        t.lacks(out, "\x1b")
        t.equal(out.count("\n"), 2, "lines")
    t.equal(len(t.show("a")["holders"][0]["command"]), 400, "length")
    t.end(holder)


def event_line(watch):
    return watch.stdout.readline().decode()


@case
def watch_prints_events(t):
    holder = t.hold("a")
    watch = t.start("watch", "a")
    jsons = t.start("watch", "--json", "a")
    t.true(re.match(rf"\d{{4}}-\d\d-\d\dT[\d:.]+Z granted +sh .*pid {holder.pid}", event_line(watch)),
           "first event")
    event_line(jsons)
    waiter = t.start("run", "a", "--", "sh", "-c", "read x", stdin=subprocess.PIPE)
    t.contains(event_line(watch), "entered")
    event = json.loads(event_line(jsons))
    t.equal((event["event"], event["pid"], event["name"]), ("entered", waiter.pid, "a"))
    quitter = t.start("run", "a", "true")
    t.contains(event_line(watch), f"pid {quitter.pid}")
    t.end(quitter)
    t.contains(event_line(watch), "left")
    t.end(holder)
    t.contains(event_line(watch), "released")
    t.contains(event_line(watch), "granted")
    t.finish(waiter, data=b"")
    for process in (watch, jsons):
        process.send_signal(signal.SIGINT)
        t.equal(process.wait(LIMIT), -signal.SIGINT)


@case
def break_takes_exactly_the_holder(t):
    holder = t.hold("a")
    waiter = t.start("run", "a", "--", "cat", stdin=subprocess.PIPE)
    t.waiting("a", 1)
    token = t.show("a")["holders"][0]["token"]
    done = t.run("break", "a")
    t.equal(done.code, 64)
    t.contains(done.err, "--yes")
    done = t.run("break", "-y", "a")
    t.equal((done.code, done.out), (0, ""))
    t.contains(done.err, f"pid {holder.pid}")
    t.equal(t.finish(holder).code, 79)
    t.until("the waiter has it", lambda: t.show("a")["holders"][0]["pid"] == waiter.pid)
    t.equal(t.run("break", "--yes", "--token", token, "a").code, 1, "breaking it again")
    t.equal(t.finish(waiter, data=b"").code, 0)


@case
def break_asks_at_a_terminal(t):
    holder = t.hold("a")
    for answer, code in ((b"n\n", 1), (b"\n", 1), (b"y\n", 0)):
        ours, theirs = pty.openpty()
        process = t.start("break", "a", stdin=theirs)
        os.close(theirs)
        t.contains(process.stderr.readline().decode(), f"pid {holder.pid}")
        os.write(ours, answer)
        t.equal(process.wait(LIMIT), code)
        os.close(ours)
    t.equal(t.finish(holder).code, 79)


@case
def break_of_a_waiter_sends_it_to_the_end(t):
    holder = t.hold("a")
    first = t.start("run", "a", "--", "sh", "-c", "echo first >>$D/order")
    t.waiting("a", 1)
    second = t.start("run", "a", "--", "sh", "-c", "echo second >>$D/order")
    t.waiting("a", 2)
    tokens = [entry["token"] for entry in t.show("a")["waiters"]]
    t.equal(t.run("break", "--yes", "--token", tokens[0], "a").code, 0)
    t.until("it queues again", lambda: [e["pid"] for e in t.show("a")["waiters"]] ==
            [second.pid, first.pid])
    t.end(holder)
    t.finish(first)
    t.finish(second)
    t.equal(t.path("order").read_text().split(), ["second", "first"])


@case
def break_with_several_holders_wants_a_token(t):
    one, two = t.hold("a", "-s"), t.hold("a", "-s")
    done = t.run("break", "--yes", "a")
    t.equal(done.code, 64)
    t.contains(done.err, "--token")
    token = [e["token"] for e in t.show("a")["holders"] if e["pid"] == two.pid][0]
    t.equal(t.run("break", "--yes", "--token", token, "a").code, 0)
    t.equal(t.finish(two).code, 79)
    t.equal(len(t.show("a")["holders"]), 1)
    t.end(one)


@case
def break_of_a_free_lock_exits_1(t):
    for args in (["--yes", "a"], ["--yes", "--token", "5", "a"]):
        done = t.run("break", *args)
        t.equal((done.code, done.out), (1, ""))
        t.one_line(done.err)


@case
def break_warns_of_a_stopped_holder(t):
    holder = t.hold("a")
    holder.send_signal(signal.SIGSTOP)
    t.until("it is stopped", lambda: state_of(holder.pid) == "T")
    t.contains(t.run("break", "--yes", "a").err, "stopped")
    holder.send_signal(signal.SIGCONT)
    t.equal(t.finish(holder).code, 79)


@case
def hold_that_is_broken_exits_79(t):
    process = t.start("hold", "a", stdin=subprocess.PIPE)
    process.stderr.readline()
    t.equal(t.run("break", "--yes", "a").code, 0)
    t.equal(process.wait(LIMIT), 79)


main()
