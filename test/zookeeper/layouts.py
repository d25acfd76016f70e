#!/usr/bin/env -S python3 -B
"""layouts.py - two versions of Holdfast with different layouts meet on one server.

The later one is next/holdfast beside the command: cmake/Next.cmake.  Its semaphores and claims
have other names.
"""
from holders import *  # noqa: F403

SERVER = None
HOLDFAST, NEXT = hf.HOLDFAST, hf.NEXT
OWN = {"semaphore": ["--slots", "2"], "claim": ["--claim"]}
SHARED = {"mutex": [], "reader": ["--shared"]}


def begin(t):
    t.env["HOLDFAST_URL"] = url(SERVER, 20)


def hold(t, executable, name, *options):
    """Start a run that holds `name` until ended; returns when it holds."""
    process = t.start("run", *options, name, "--", "sleep", "1000", executable=executable)
    t.until("the lock is held", lambda: t.show(name)["holders"])
    return process


def refused(t, executable, name, *options):
    for limit in ("-n", "-w5"):
        done = t.run("run", limit, *options, name, "--", "echo", "in", executable=executable)
        t.equal((done.code, done.out), (69, ""), done.err)
        t.one_line(done.err)
        t.contains(done.err, "makes no sense to this version of Holdfast")
        t.contains(done.err, "`holdfast show` lists it")


def token(t, executable, name, *options):
    done = t.run("run", *options, name, "--", "sh", "-c", "echo $HOLDFAST_TOKEN", executable=executable)
    t.equal((done.code, done.err), (0, ""), "a run on a free lock")
    return int(done.out)


@case
def each_is_refused_while_the_other_holds(t):
    begin(t)
    for kind, options in OWN.items():
        for there, comes in ((HOLDFAST, NEXT), (NEXT, HOLDFAST)):
            name = f"{kind} {there == NEXT}"
            holder = hold(t, there, name, *options)
            shown = json.loads(t.run("show", "--json", name, executable=comes).out)
            t.equal([entry["kind"] for entry in shown["holders"] if entry["kind"] == "unknown"],
                    ["unknown"], f"{name}: what the other sees")
            for other in ([], ["--shared"], options):
                refused(t, comes, name, *other)
            held = str(json.loads(t.run("show", "--json", name, executable=there).out)["holders"][0]["token"])
            t.equal(t.run("check", name, "--token", held, executable=there).code, 0, "it is still held")
            t.equal(t.end(holder).code, 143, "exit code of the holder")


@case
def each_gets_the_lock_when_the_other_has_left(t):
    """Tokens rise in both directions."""
    begin(t)
    for kind, options in OWN.items():
        tokens = [token(t, who, f"turns {kind}", *options) for who in (HOLDFAST, NEXT, HOLDFAST, NEXT)]
        t.equal(tokens, sorted(set(tokens)), "tokens rise")


@case
def mutexes_readers_and_writers_wait_for_each_other(t):
    begin(t)
    for kind, options in SHARED.items():
        for there, comes in ((HOLDFAST, NEXT), (NEXT, HOLDFAST)):
            name = f"{kind} {there == NEXT}"
            holder = hold(t, there, name, *options)
            waiter = t.start("run", *(["--exclusive"] if options else []), name, "--", "true",
                             executable=comes)
            t.waiting(name, 1)
            t.equal(t.end(holder).code, 143, "exit code of the holder")
            t.equal(t.finish(waiter).code, 0, "exit code of the waiter")


@case
def both_never_hold_it_at_once(t):
    begin(t)
    script = 'mkdir "$D/in" || echo overlap >>"$D/log"; echo in >>"$D/log"; rmdir "$D/in"'
    for options in (["--claim"], ["--slots", "2", "--weight", "2"]):
        t.path("log").write_text("")
        clients = [t.start("run", *options, f"all {options[0]}", "--", "sh", "-c", script, executable=binary)
                   for _ in range(4) for binary in (HOLDFAST, NEXT)]
        for client in clients:
            done = t.finish(client)
            t.true(done.code == 0 or "to this version of Holdfast" in done.err, f"{done.code}: {done.err}")
        t.lacks(t.path("log").read_text(), "overlap")


if __name__ == "__main__":
    with store("zk"), zookeeper.standalone(tick=200) as SERVER:
        hf.main()
