#!/usr/bin/env -S python3 -B
"""nested.py - a run inside a run of the same name: granted, or refused at once, whatever
the two kinds are; never a deadlock."""
import shlex
from hf import *

KINDS = ["", "-s", "-x", "--claim", "--slots 1", "--slots 2", "--slots 2 --weight 2", "--slots 3"]
OUTER = [f"run {kind}" for kind in KINDS] + ["elect -q"]
if "asan" in HOLDFAST:
    OUTER = ["run ", "run -s", "run --slots 2", "elect -q"]  # the others differ in a number alone
LIMITED = ["run ", "run -x", "hold -s", "elect -q"]
INNER = [f"{verb} {kind}" for verb in ("run", "hold") for kind in KINDS] + ["elect -q"]


def granted(outer, inner):
    """As the manual has it: what is inside fits in beside what is outside."""
    kinds = [words.partition(" ")[2].replace("-q", "") for words in (outer, inner)]
    return kinds == ["-s", "-s"] or kinds == ["--slots 2"] * 2 or kinds == ["--slots 3"] * 2


def finish(t, process, what):
    done = t.finish(process, limit=LIMIT)
    t.equal(done.code, 0, f"{what}: {done.out} {done.err}")
    return done


@case
def every_kind_in_every_kind(t):
    """All of one kind outside are tried in one run; the kinds side by side."""
    runs = []
    for number, outer in enumerate(OUTER):
        script = "".join(
            f"$HF {inner} {more} n{number} {'' if inner.startswith('hold') else '-- true'} "
            f"</dev/null 2>>$D/err.{number}; echo $? {shlex.quote(inner)}'|{more}'\n"
            for inner in INNER for more in ("", "-w 1000") if not more or inner in LIMITED)
        runs.append((outer, t.start(*outer.split(), f"n{number}", "--", "sh", "-c", script)))
    for number, (outer, process) in enumerate(runs):
        for line in finish(t, process, outer).out.splitlines():
            code, _, inner = line.partition(" ")
            want = "0" if granted(outer, inner.partition("|")[0]) else "64"
            t.equal(code, want, f"{inner} in {outer}")
        for line in t.path(f"err.{number}").read_text().splitlines():
            known = ("never end", "in use as", "holding")
            t.true(any(word in line for word in known), f"{outer}: {line}")


@case
def without_waiting_it_is_busy(t):
    for kind in KINDS[:4]:
        done = t.run("run", *kind.split(), "a", "--", HOLDFAST, "try", *kind.split(), "a", "true")
        t.equal(done.code, 0 if kind == "-s" else 75, f"{kind}: {done.err}")


def between(t, kinds, script):
    """What a script inside the first kind comes to while another waits behind it."""
    outer, waiter = kinds
    held = t.hold("b", *outer.split(), script=f"while ! [ -e $D/go ]; do sleep 0.01; done; {script}")
    waits = t.start("run", "-q", *waiter.split(), "b", "true")
    t.waiting("b", 1)
    t.path("go").touch()
    done = t.finish(held)
    t.equal(t.finish(waits).code, 0)
    return done


@case
def readers_with_a_writer_between(t):
    done = between(t, ("-s", "-x"), "$HF run -s b -- true")
    t.equal(done.code, 64, done.err)
    t.contains(done.err, "never end")


@case
def slots_with_a_waiter_between_that_needs_too_many(t):
    done = between(t, ("--slots 3", "--slots 3 --weight 3"), "$HF hold --slots 3 b </dev/null")
    t.equal(done.code, 64, done.err)
    t.contains(done.err, "never end")


@case
def it_waits_for_others_that_hold_a_slot(t):
    other = t.hold("b", "--slots", "2", script="while ! [ -e $D/go ]; do sleep 0.01; done")
    outer = t.start("run", "--slots", "2", "b", "--", HOLDFAST, "run", "-q", "--slots", "2", "b", "echo", "in")
    t.waiting("b", 1)
    t.path("go").touch()
    t.equal(t.finish(outer).out, "in\n")
    t.finish(other)


@case
def another_store_is_another_lock(t):
    other = f"sqlite:{t.folder}/other.db"
    inner = [HOLDFAST, "run", "--url", other, "a", "--"]
    t.equal(t.run("run", "a", "--", *inner, "echo", "in").out, "in\n")
    # Back in the first, however it is called there.
    t.path("link").symlink_to(t.folder)
    for url in (f"sqlite:{t.folder}/locks.db", f"sqlite:{t.folder}/link/locks.db", "sqlite:locks.db?force=1"):
        done = t.run("run", "a", "--", *inner, HOLDFAST, "run", "--url", url, "a", "true", cwd=t.folder)
        t.equal(done.code, 64, f"{url}: {done.err}")
        t.contains(done.err, "never end")


@case
def a_lost_place_is_not_in_the_way(t):
    outer = t.hold("a", script="while ! [ -e $D/go ]; do sleep 0.01; done; $HF run a echo in")
    os.kill(outer.pid, signal.SIGSTOP)  # or it would end its command
    t.equal(t.run("break", "--yes", "a").code, 0)
    t.path("go").touch()
    t.equal(outer.stdout.readline(), b"in\n")
    os.kill(outer.pid, signal.SIGCONT)
    t.equal(t.finish(outer).code, 79)


@case
def the_store_is_passed_on(t):
    url = f"sqlite:{t.folder}/other.db"
    script = "$HF show a >/dev/null && $HF check && $HF run b -- $HF show b >/dev/null && echo $HOLDFAST_URL"
    for verb in (["run"], ["elect", "-q"]):
        done = t.run(*verb, "--url", url, "a", "--", "sh", "-c", script)
        t.equal((done.code, done.out, done.err), (0, url + "\n", ""))
    # From wherever the command goes; and by a file.
    done = t.run("run", "--url", "sqlite:other.db", "a", "--", "sh", "-c", f"cd /; {script}", cwd=t.folder)
    t.equal((done.out, done.err), (url + "\n", ""))
    t.path("url").write_text(url + "\n")
    done = t.run("run", "--url-file", str(t.path("url")), "a", "--", "sh", "-c", script)
    t.equal((done.out, done.err), (url + "\n", ""))
    # The default one is the default inside, too.
    home = {"HOLDFAST_URL": None, "XDG_STATE_HOME": str(t.folder)}
    done = t.run("run", "a", "--", "sh", "-c", "$HF show a >/dev/null && echo ${HOLDFAST_URL-none}", env=home)
    t.equal((done.out, done.err), ("none\n", ""))


@case
def holdfast_held_escapes_names(t):
    for name in ("a b", "100%", "a%20b", " ", "日本", "x'y\"z", "a@b", "-n"):
        script = 'printf "%s\\n" "$HOLDFAST_HELD"; exec "$HF" run -- "$1" true'
        done = t.run("run", "--", name, "--", "sh", "-c", script, "sh", name)
        t.equal(done.code, 64, name)
        t.contains(done.err, "never end")
        t.equal(done.out.count(" "), 0, done.out)
    done = t.run("run", "a b", "--", HOLDFAST, "run", "c", "--", "sh", "-c",
                 'echo "$HOLDFAST_HELD"; $HF show --json c; $HF show --json "a b"')
    held, *shown = done.out.splitlines()
    places = [json.loads(line)["holders"][0] for line in reversed(shown)]
    want = " ".join(f"{name}/{p['token']}/{p['pid']}@{p['host']}" for name, p in zip(("a%20b", "c"), places))
    t.equal(held, want)
    # A text that is not in our format is nobody's place.
    for junk in ("a", "a/1/1@x", "/", " ", "a/b", "%", "a" * 100000):
        t.equal(t.run("run", "a", "true", env={"HOLDFAST_HELD": junk}).code, 0, junk[:20])


def cleaned(t, *words, url=None):
    """A holdfast with an environment that says nothing, as under sudo."""
    return ["env", "-i", f"HF_CLI_CASE={t.folder}", HOLDFAST, words[0], "--url", url or t.env["HOLDFAST_URL"], *words[1:]]


@case
def outer_runs_are_found_with_a_cleaned_environment(t):
    with a_redis(t) as server:
        for url in (t.env["HOLDFAST_URL"], f"redis://{server.address}?ttl=1s"):
            for inner in (["run", "a", "--", "true"], ["run", "-w", "1000", "a", "--", "true"], ["hold", "a"],
                          ["elect", "-q", "a", "--", "true"]):
                done = t.run("run", "a", "--", *cleaned(t, *inner, url=url), env={"HOLDFAST_URL": url})
                t.equal(done.code, 64, f"{inner}: {done.err}")
                t.contains(done.err, "never end")
            done = t.run("elect", "-q", "a", "--", "sh", "-c", 'setsid "$@"; exit $?', "sh",
                         *cleaned(t, "run", "a", "--", "true", url=url), env={"HOLDFAST_URL": url})
            t.equal(done.code, 64, done.err)


@case
def a_cleaned_environment_under_an_outer_guardian_and_others(t):
    """Children from before; a run of another name in between; a daemon that was left."""
    script = 'sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >$D/older; exec "$HF" run a -- "$@"'
    inner = cleaned(t, "run", "a", "--", "true")
    done = t.run("-c", script, "sh", *inner, executable="/bin/sh")
    os.kill(int(t.path("older").read_text()), signal.SIGKILL)
    t.equal(done.code, 64, done.err)
    done = t.run("run", "a", "--", *cleaned(t, "run", "b", "--", *inner))
    t.equal(done.code, 64, done.err)
    script = '(sleep 0.1; "$@"; echo $? >$D/code) </dev/null >/dev/null 2>&1 &'
    t.equal(t.run("run", "a", "--", "sh", "-c", script, "sh", *inner).code, 0)
    t.equal(t.path("code").read_text(), "64\n")


@case
def with_a_cleaned_environment_it_waits_for_others(t):
    """Those around us that fit, that hold something else, or a process that only holds."""
    for kind in ("-s", "--slots 2"):
        inner = cleaned(t, "run", *kind.split(), "a", "--", "echo", "in")
        t.equal(t.run("run", *kind.split(), "a", "--", *inner).out, "in\n")
    other = t.hold("b", script="while ! [ -e $D/go ]; do sleep 0.01; done")
    outer = t.start("run", "a", "--", *cleaned(t, "run", "-q", "b", "echo", "in"))
    t.waiting("b", 1)
    t.path("go").touch()
    t.equal((t.finish(outer).out, t.finish(other).code), ("in\n", 0))


main()
