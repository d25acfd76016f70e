#!/usr/bin/env -S python3 -B
"""doctor.py - findings about a store, healthy or damaged."""
import sqlite3
from hf import *


def lines(done):
    """{about: (word, text)} of what was printed."""
    found = {}
    for line in done.out.splitlines():
        if not line.startswith(" "):
            word, rest = line.split(None, 1)
            about, _, text = rest.partition("  ")
            found[about] = (word, text.strip())
    return found


@case
def all_is_well(t):
    holder = t.hold("a")
    waiter = t.start("run", "a", "--", "true")
    t.waiting("a", 1)
    done = t.run("doctor", "a")
    t.equal((done.code, done.err), (0, ""))
    found = lines(done)
    t.equal(set(word for word, _ in found.values()), {"ok"})
    t.equal(found["link"][1], "up")
    t.equal(found["store"][1], t.env["HOLDFAST_URL"])
    t.equal(found["integrity"][1], "ok")
    t.equal(found["line"][1], '1 hold "a", 1 wait')
    t.true("line" not in lines(t.run("doctor")), "no line without a name")
    columns = {line.rindex(text) for line, (_, text) in zip(done.out.splitlines(), found.values())}
    t.equal(len(columns), 1, "columns in which the texts start")
    t.end(holder)
    t.finish(waiter)


@case
def doctor_creates_no_files(t):
    done = t.run("doctor")
    t.equal(done.code, 0)
    t.contains(lines(done)["file"][1], "does not exist yet")
    t.equal(list(t.folder.iterdir()), [], "files")


@case
def as_json(t):
    t.equal(t.run("run", "a", "true").code, 0)
    t.path("locks.db").chmod(0o644)
    done = t.run("doctor", "--json")
    t.equal(done.code, 0)
    found = {finding["about"]: finding for finding in json.loads(done.out)}
    t.equal(found["link"], {"level": "ok", "about": "link", "text": "up", "advice": ""})
    t.equal(found["permissions"]["level"], "warn")
    t.contains(found["permissions"]["advice"], "chmod")


@case
def a_warning_is_no_fault(t):
    t.equal(t.run("run", "a", "true").code, 0)
    t.path("locks.db").chmod(0o644)
    done = t.run("doctor")
    t.equal(done.code, 0)
    t.equal(lines(done)["permissions"][0], "warn")
    t.contains(done.out, "\n       -> ")


@case
def versions_of_clients_are_listed(t):
    version = t.run("version").out.split()[1].rstrip(",")
    t.equal(lines(t.run("doctor"))["versions"], ("ok", "no client holds or waits"))
    holders = [t.hold("a", "-s") for _ in range(3)]
    t.equal(lines(t.run("doctor"))["versions"], ("ok", f"3 clients: 3 of Holdfast {version}"))
    t.equal({place["version"] for place in t.show("a")["holders"]}, {version})
    with sqlite3.connect(t.path("locks.db")) as db:
        first, second = db.execute("SELECT seq FROM place ORDER BY seq LIMIT 2").fetchall()
        for (seq,), other in (first, ""), (second, " holdfast=99.0.0"):
            db.execute("UPDATE place SET note = replace(note, ?, ?) WHERE seq = ?", (f" holdfast={version}", other, seq))
    db.close()
    found = t.run("doctor")
    t.equal(found.code, 0)
    t.equal(lines(found)["versions"], ("warn", f"3 clients: 1 of Holdfast {version}, "
                                               "1 of Holdfast 99.0.0, 1 of an unknown version"))
    t.contains(found.out, "-> use one version everywhere")
    t.equal([place["version"] for place in t.show("a")["holders"]], ["", "99.0.0", version])
    t.end(holders[1])
    found = t.run("doctor")
    t.equal(lines(found)["versions"][0], "ok")
    t.contains(found.out, "-> another program took these places")
    for holder in holders[0], holders[2]:
        t.end(holder)


@case
def a_damaged_file(t):
    t.equal(t.run("run", "a", "true").code, 0)
    path = t.path("locks.db")
    with sqlite3.connect(path) as db:
        page, = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'place'").fetchone()
        size, = db.execute("PRAGMA page_size").fetchone()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()
    whole = path.read_bytes()
    with open(path, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xee" * 64)
    done = t.run("doctor")
    t.equal((done.code, lines(done)["integrity"][0]), (78, "FAULT"))
    path.write_bytes(whole)


@case
def a_store_that_cannot_be_used(t):
    junk = t.path("junk.db")
    junk.write_bytes(b"this is not a database at all\n" * 1000)
    done = t.run("doctor", "--url", f"sqlite:{junk}")
    t.equal((done.code, done.err, lines(done)["link"][0]), (69, "", "FAULT"))
    t.contains(lines(done)["link"][1], "junk.db")
    done = t.run("doctor", "--json", "--url", f"sqlite:{junk}")
    t.equal((done.code, json.loads(done.out)[-1]["level"]), (69, "fault"))


@case
def bad_usage(t):
    for args in (["--url", "frob:x"], ["a/b"], ["a", "b"], ["-w", "0"]):
        done = t.run("doctor", *args)
        t.equal((done.code, done.out), (64, ""), args)
        t.one_line(done.err)


@case
def inside_a_run(t):
    t.equal(t.run("run", "a", "--", HOLDFAST, "doctor", "a").code, 0)


main()
