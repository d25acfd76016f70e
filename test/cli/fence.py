#!/usr/bin/env -S python3 -B
"""fence.py - fence: a file is refused to a holder that came too late."""
from hf import *


def refused(t, code, *args, says="", **more):
    done = t.run(*args, **more)
    t.equal(done.code, code, f"exit code of {args}: {done.err}")
    t.equal(done.out, "", f"stdout of {args}")
    t.one_line(done.err)
    t.contains(done.err, says)


def claims(t, *args, **more):
    done = t.run("fence", *args, **more)
    t.equal((done.code, done.out, done.err), (0, "", ""), args)


def mark(t, name):
    return t.path(f"{name}.fence").read_text()


@case
def inside_a_run(t):
    data = str(t.path("data"))
    done = t.run("run", "a", "--", "sh", "-c", f"$HF fence {data} && echo $HOLDFAST_TOKEN")
    t.equal((done.code, done.err), (0, ""))
    t.equal(mark(t, "data"), done.out)
    later = t.run("run", "a", "--", HOLDFAST, "fence", data, "--", "sh", "-c", "echo $HOLDFAST_TOKEN; exit 7")
    t.equal((later.code, later.err), (7, ""))
    t.equal(mark(t, "data"), later.out)
    t.true(int(later.out) > int(done.out), "tokens rise")
    refused(t, 79, "fence", data, "--token", done.out.strip(), says=f"token {done.out.strip()} is stale")
    refused(t, 79, "fence", "--token", done.out.strip(), data, "--", "touch", str(t.path("late")),
            says=later.out.strip())
    t.true(not t.path("late").exists(), "the command must not have run")


@case
def the_fence_lasts_as_long_as_the_command(t):
    """And as long as what it started; a killed command keeps nobody out."""
    data, go = str(t.path("data")), t.path("go")
    wait = f"while ! [ -e {go} ]; do sleep 0.01; done"
    for script in (wait, f"({wait}) &"):
        go.unlink(missing_ok=True)
        started = t.path("started")
        started.unlink(missing_ok=True)
        first = t.start("fence", "--token", "5", data, "--", "sh", "-c", f"touch {started}; {script}")
        t.until("it runs", started.exists)
        refused(t, 75, "fence", "-n", "--token", "6", data, says="data")
        refused(t, 75, "fence", "-w", "50ms", "--token", "6", data, says="data")
        t.equal(mark(t, "data"), "5\n")
        go.touch()
        t.equal(t.finish(first).code, 0)
        claims(t, "-w", "20s", "--token", "5", data)
    go.unlink()
    started.unlink()
    first = t.start("fence", "--token", "5", data, "--", "sh", "-c", f"touch {started}; {wait}")
    t.until("it runs", started.exists)
    with open(t.path("said"), "wb") as said:
        waiter = t.start("fence", "--token", "6", data, stderr=said)
    t.until("it says that it waits", lambda: "waiting" in t.path("said").read_text())
    os.kill(first.pid, signal.SIGKILL)
    go.touch()  # its last `sleep` has the fence as well
    t.equal(t.finish(waiter).code, 0)
    t.finish(first)
    t.equal(mark(t, "data"), "6\n")


@case
def a_stopped_holder_changes_nothing(t):
    """The first holder is stopped before it writes; its lock is broken, and a second one writes."""
    data, go = t.path("data"), t.path("go")
    data.write_text("old\n")
    script = (f"trap '' TERM; $HF fence {data} || exit; touch {go}.1; while ! [ -e {go} ]; do sleep 0.01; done; "
              f"$HF fence {data} -- sh -c 'echo late >{data}'; echo $? >{go}.2")
    first = t.hold("a", script=script)
    t.until("it has claimed", t.path("go.1").exists)
    os.kill(first.pid, signal.SIGSTOP)
    t.equal(t.run("break", "--yes", "a").code, 0)
    second = t.run("run", "a", "--", HOLDFAST, "fence", str(data), "--", "sh", "-c", f"echo new >{data}")
    t.equal((second.code, second.err), (0, ""))
    go.touch()
    t.until("it has tried", lambda: t.path("go.2").exists() and t.path("go.2").read_text().strip())
    t.equal(t.path("go.2").read_text().strip(), "79")
    os.kill(first.pid, signal.SIGCONT)
    t.equal(t.finish(first).code, 79)
    t.equal(data.read_text(), "new\n")


@case
def what_makes_no_sense(t):
    data = str(t.path("data"))
    refused(t, 64, "fence", says="argument")
    refused(t, 64, "fence", data, says="--token")
    refused(t, 64, "fence", data, env={"HOLDFAST_TOKEN": "x"}, says="HOLDFAST_TOKEN")
    refused(t, 64, "fence", data, env={"HOLDFAST_TOKEN": "0"}, says="HOLDFAST_TOKEN")
    refused(t, 64, "fence", "--token", "0", data, says="--token")
    refused(t, 64, "fence", "-n", "-w", "1", "--token", "1", data, says="-n and -w")
    refused(t, 64, "fence", "--token", "1", "/", says="name of a file")
    refused(t, 69, "fence", "--token", "1", str(t.path("no/data")), says="No such file")
    t.path("data.fence").write_text("junk")
    refused(t, 69, "fence", "--token", "1", data, says="damaged")
    t.equal(mark(t, "data"), "junk")
    t.path("link").symlink_to("data")
    refused(t, 69, "fence", "--token", "1", str(t.path("link")), says="symbolic link")
    refused(t, 127, "fence", "--token", "1", str(t.path("x")), "--", "/nowhere/at/all", says="/nowhere/at/all")
    refused(t, 126, "fence", "--token", "1", str(t.path("x")), "--", str(t.folder), says="cannot run")


@case
def words_that_look_like_options(t):
    for args in (["--", "-n"], ["-n", "--", "-n", "--", "true"], ["-w", "1", "--", "-n", "true"]):
        claims(t, "--token", "1", *args, cwd=t.folder)
        t.equal(mark(t, "-n"), "1\n")
        t.path("-n.fence").unlink()


main()
