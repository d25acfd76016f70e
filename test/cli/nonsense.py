"""nonsense - what every verb must make of a place that makes no sense, on any store."""
import json


def shown(t, name):
    """The places of a lock: [(kind, held, token)]."""
    lock = t.show(name)
    return [(entry["kind"], held == "holders", entry["token"])
            for held in ("holders", "waiters") for entry in lock[held]]


def is_in_the_way(t, name, *run):
    """Its only place makes no sense: it is shown, nobody gets past it.  Returns its token."""
    (kind, held, token), = shown(t, name)
    t.equal((kind, held), ("unknown", True))
    t.contains(t.run("list").out, "unknown")
    t.equal([lock["name"] for lock in t.list()], [name])
    for limit in ("-n", "-w0.2"):
        done = t.run("run", limit, *run, name, "--", "echo", "in")
        t.equal((done.code, done.out), (69, ""), done.err)
        t.one_line(done.err)
        t.contains(done.err, "makes no sense")
    t.equal(t.run("ask", name).code, 0)
    for args in ([], [name]):
        done = t.run("doctor", "--json", *args)
        t.true(done.code > 0, "doctor finds nothing")
        found = [finding for finding in json.loads(done.out) if finding["about"] == "place"]
        t.equal(len(found), 1, done.out)
        t.contains(found[0]["text"], f'in the queue of "{name}" makes no sense')
    return str(token)


def can_be_broken(t, name, token):
    done = t.run("break", "-y", "--token", token, name)
    t.equal(done.code, 0, done.err)
    t.equal(shown(t, name), [])
