#!/usr/bin/env -S python3 -B
"""also-flock.py - run --also-flock: scripts with flock(1) and with Holdfast exclude each other."""
from hf import *

FLOCK = shutil.which("flock") or "/usr/bin/flock"


def also(t, *words, file="L"):
    return ("run", "--also-flock", str(t.path(file)), *words)


def old_script(t, *options, script="exec sleep 1000", file="L"):
    """flock(1) with a shell under it; returns when it has the file."""
    flag = t.path(f"old.{len(t.started)}")
    process = t.start(FLOCK, *options, str(t.path(file)), "sh", "-c", f"echo $$ >{flag}; {script}",
                      executable="/usr/bin/env", called="env")
    t.until("flock has the file", lambda: flag.exists() and flag.read_text().strip())
    process.command = int(flag.read_text())
    return process


def end_old(t, process):
    """flock does not end its command."""
    os.kill(process.command, signal.SIGKILL)
    t.finish(process)


def is_free(t, *options, file="L"):
    return subprocess.run([FLOCK, "-n", *options, t.path(file), "true"], check=False).returncode == 0


def in_flock(pid):
    """Does it wait in the kernel's queue?  /proc/locks marks that by an arrow."""
    with open("/proc/locks") as file:
        return any("->" in line and f" {pid} " in line for line in file)


def helpers(t):
    return [pid for pid in t.processes() if name_of(pid) == "hf-flock"]


def wait_for_file(t, *words, **more):
    """A run that has its lock, and waits for the file."""
    process = t.start(*also(t, *words), **more)
    t.until("it waits for the file", lambda: helpers(t))
    return process


@case
def both_exclude_each_other(t):
    holder = t.hold("a", "--also-flock", str(t.path("L")))
    t.true(not is_free(t), "flock got the file of a holder")
    t.true(not is_free(t, "-s"), "flock -s got it")
    t.end(holder)
    t.true(is_free(t), "the file was not given back")
    old = old_script(t, script="until test -e $D/go; do sleep 0.01; done; echo old >>$D/log")
    new = wait_for_file(t, "a", "--", "sh", "-c", "echo new >>$D/log")
    t.equal(len(t.show("a")["holders"]), 1, "its place comes first")
    t.path("go").touch()
    t.equal((t.finish(new).code, t.finish(old).code), (0, 0))
    t.equal(t.path("log").read_text(), "old\nnew\n")


@case
def many_of_both_lose_no_update(t):
    add = 'n=$(cat $D/n); echo $((n + 1)) >$D/n'
    t.path("n").write_text("0\n")
    loop = f'for i in 1 2 3 4 5; do {FLOCK} $D/L sh -c \'{add}\'; "$HF" run -q --also-flock $D/L a -- sh -c \'{add}\'; done'
    for process in [t.start("-c", loop, executable="/bin/sh", called="sh") for _ in range(4)]:
        t.equal(t.finish(process).code, 0)
    t.equal(t.path("n").read_text(), "40\n")


@case
def readers_share_the_file(t):
    reader = t.hold("a", "-s", "--also-flock", str(t.path("L")))
    t.true(is_free(t, "-s"), "flock -s was refused")
    t.true(not is_free(t, "-x"), "flock -x was not")
    t.end(reader)
    old = old_script(t, "-s")
    t.equal(t.run(*also(t, "-n", "-s", "a", "true")).code, 0)
    t.equal(t.run(*also(t, "-n", "-x", "a", "true")).code, 75)
    end_old(t, old)


@case
def a_file_that_is_locked_for_too_long(t):
    old = old_script(t)
    for words, code in ((["-n"], 75), (["-w", "0"], 75), (["-w", "0.2"], 75), (["-n", "-E", "0"], 0),
                        (["-w", "0.2", "-E", "7"], 7)):
        done = t.run(*also(t, *words, "a", "touch", str(t.path("ran"))))
        t.equal(done.code, code, f"{words}")
        t.one_line(done.err)
        t.contains(done.err, f"another program has flock on {t.path('L')}, see lslocks(8)\n")
        t.equal("gave up waiting" in done.err, "0.2" in words)
        t.equal(t.run("try", "a", "true").code, 0, "the place is given back")
    t.equal(t.run("try", "--also-flock", str(t.path("L")), "a", "true").code, 75)
    quiet = t.run(*also(t, "-q", "-w", "0.2", "a", "true"))
    t.equal((quiet.code, quiet.err), (75, ""))
    t.equal([helpers(t), t.path("ran").exists()], [[], False])
    end_old(t, old)


@case
def both_waits_share_one_limit(t):
    old = old_script(t)
    holder = t.hold("a")
    waiter = t.start(*also(t, "-w", "3", "a", "true"))
    t.waiting("a", 1)
    t.until("some of -w is over", lambda: time.monotonic() > waiter.begin + 1.5)
    t.end(holder)
    done = t.finish(waiter)
    t.equal(done.code, 75)
    t.true(2.9 < done.seconds < 4.4, f"gave up after {done.seconds:.1f} s")
    t.contains(done.err, "waiting for flock on ")
    end_old(t, old)


@case
def a_signal_ends_the_wait(t):
    old = old_script(t)
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        waiter = wait_for_file(t, "a", "touch", str(t.path("ran")))
        done = t.end(waiter, sig)
        t.equal(done.code, -sig if sig == signal.SIGINT else 128 + sig)
        t.equal(t.run("try", "a", "true").code, 0, "the place is given back")
    t.equal([helpers(t), t.path("ran").exists()], [[], False])
    end_old(t, old)


@case
def a_stopped_waiter_has_neither(t):
    old = old_script(t)
    waiter = wait_for_file(t, "a", "echo", "mine", preexec_fn=os.setpgrp)
    waiter.send_signal(signal.SIGTSTP)
    t.until("it is stopped", lambda: state_of(waiter.pid) == "T")
    end_old(t, old)
    t.equal(t.run(*also(t, "-n", "a", "true")).code, 0)
    waiter.send_signal(signal.SIGCONT)
    done = t.finish(waiter)
    t.equal((done.code, done.out), (0, "mine\n"))


@case
def a_lost_lock_ends_the_wait(t):
    old = old_script(t)
    status, end = os.pipe()
    waiter = wait_for_file(t, "--status-fd", str(end), "a", "touch", str(t.path("ran")), pass_fds=[end])
    os.close(end)
    t.equal(t.run("break", "--yes", "a").code, 0)
    done = t.finish(waiter)
    t.equal(done.code, 79)
    t.contains(done.err, '"a" was lost while waiting for flock on ')
    with os.fdopen(status) as lines:
        events = [json.loads(line) for line in lines]
    t.equal([event["event"] for event in events if event["event"] != "place"], ["waiting", "failed"])
    end_old(t, old)
    t.true(is_free(t), "the file was kept")
    t.true(not t.path("ran").exists(), "the command ran")


@case
def a_killed_waiter_keeps_nothing(t):
    for victim in ("holdfast", "helper"):
        old = old_script(t)
        waiter = wait_for_file(t, "-q", "a", "echo", "mine")
        os.kill(waiter.pid if victim == "holdfast" else helpers(t)[0], signal.SIGKILL)
        if victim == "holdfast":
            t.finish(waiter)
            t.equal(t.run("run", "-w", "20", "a", "true").code, 0)
        end_old(t, old)
        if victim == "helper":
            t.equal(t.finish(waiter).out, "mine\n")
        t.until("the file is free", lambda: is_free(t))


@case
def the_file_is_free_after_the_command(t):
    """holdfast is killed: the guardian ends the tree, and only then is the file free, also with -o."""
    for options in ([], ["-o"], ["--leftovers", "leave"]):
        holder = t.hold("a", *options, "--also-flock", str(t.path("L")), script="trap '' TERM; exec sleep 1000")
        look = f"if kill -0 {holder.command}; then echo beside it; fi 2>/dev/null"
        waiter = t.start(FLOCK, str(t.path("L")), "sh", "-c", look, executable="/usr/bin/env", called="env")
        t.until("flock waits", lambda waiter=waiter: in_flock(waiter.pid))
        holder.kill()
        t.equal(t.finish(waiter).out, "", f"{options}")
        t.finish(holder)


@case
def leftovers_and_hold_at_least_keep_the_file(t):
    script = "(until test -e $D/go; do sleep 0.01; done) </dev/null >/dev/null 2>&1 & echo up"
    run = t.start(*also(t, "-q", "a", "--", "sh", "-c", script))
    t.equal(run.stdout.readline(), b"up\n")
    t.true(not is_free(t), "a process that is left has no lock")
    t.path("go").touch()
    t.equal(t.finish(run).code, 0)
    left = script.replace("until", "setsid until").replace("(setsid until", "(until")
    t.path("go").unlink()
    t.equal(t.run(*also(t, "--leftovers", "leave", "a", "--", "sh", "-c", left)).code, 0)
    t.true(is_free(t), "--leftovers leave keeps the file")
    t.path("go").touch()
    run = t.start(*also(t, "--hold-at-least", "1h", "a", "true"))
    t.until("the command is over", lambda: t.processes() and len(t.processes()) == 2 and not is_free(t))
    t.true(not is_free(t), "--hold-at-least keeps no file")
    t.end(run)
    t.true(is_free(t), "the file was kept")


@case
def the_command_inherits_the_file(t):
    look = "readlink /proc/$$/fd/* | grep -c /L$"
    t.equal(t.run(*also(t, "a", "--", "sh", "-c", look)).out, "1\n")
    t.equal(t.run(*also(t, "-o", "a", "--", "sh", "-c", look)).out, "0\n")
    t.equal(oct(t.path("L").stat().st_mode & 0o777 & ~0o022), oct(0o644), "as flock makes it")


@case
def directories_and_read_only_files(t):
    t.path("D").mkdir()
    t.equal(t.run(*also(t, "a", "true", file="D")).code, 0)
    old = old_script(t, file="D")
    t.equal(t.run(*also(t, "-n", "a", "true", file="D")).code, 75)
    end_old(t, old)
    t.path("ro").touch(0o444)
    t.folder.chmod(0o755)
    words = ("--reuid", "65534", "--clear-groups", HOLDFAST, "run", "--url", f"sqlite:{t.path('of-nobody')}/locks.db",
             "--also-flock")
    if os.getuid() == 0:
        t.path("of-nobody").mkdir()
        os.chown(t.path("of-nobody"), 65534, 65534)
        for file, code in (("ro", 0), ("new", 64)):
            done = t.run(*words, str(t.path(file)), "a", "true", executable="/usr/bin/setpriv", called="setpriv")
            t.equal(done.code, code, done.err)
    t.path("closed").touch(0)
    if os.getuid() == 0:
        done = t.run(*words, str(t.path("closed")), "a", "true", executable="/usr/bin/setpriv", called="setpriv")
        t.equal(done.code, 64)
        t.one_line(done.err)
        t.contains(done.err, "closed: cannot open or create this file: Permission denied")


@case
def files_that_cannot_be(t):
    for file, why in (("no/where", "No such file or directory"), ("", "No such file or directory"),
                      ("x" * 300, "File name too long")):
        path = str(t.path(file)) if file else ""
        done = t.run("run", "--also-flock", path, "a", "touch", str(t.path("ran")))
        t.equal(done.code, 64)
        t.one_line(done.err)
        t.contains(done.err, f"--also-flock {path}: cannot open or create this file: {why}")
    done = t.run(*also(t, "--slots", "2", "a", "true"))
    t.equal(done.code, 64)
    t.contains(done.err, "--also-flock has no slots")
    t.true(not t.path("ran").exists(), "the command ran")


main()
