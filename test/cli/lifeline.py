#!/usr/bin/env -S python3 -B
"""lifeline.py - holdfast and its guardian are killed together: in a file, the lock is held
for as long as anything of the command runs."""
from hf import *

# The command starts a process, which runs until $D/go is there, and waits for it.
DAEMON = "echo $$ >$D/up.new; mv $D/up.new $D/up; until test -e $D/go; do sleep 0.01; done"
SCRIPT = "sh $D/daemon </dev/null >/dev/null 2>&1 & wait"


def hold(t, *options, daemon=DAEMON):
    for old in ("up", "go"):
        t.path(old).unlink(missing_ok=True)
    t.path("daemon").write_text(daemon)
    holder = t.hold("a", *options, script=SCRIPT)
    t.until("its child is up", t.path("up").exists)
    return holder


def kill_both(t, holder):
    """As if at one moment: holdfast is stopped, and sees nothing of the guardian's death.  (Not the
    other way round: the kernel continues a stopped process whose parent dies.)"""
    both = [t.guardian(holder), holder.pid]
    for pid in both:
        os.kill(pid, signal.SIGSTOP)
        t.until("it is stopped", lambda pid=pid: state_of(pid) == "T")
    for pid in both:
        os.kill(pid, signal.SIGKILL)
    holder.wait(LIMIT)


def is_alive(t):
    return state_of(int(t.path("up").read_text())) not in "ZX"


@case
def leftovers_keep_the_lock_and_their_end_wakes_the_next(t):
    for options in ([], ["--leftovers", "end"], ["-s"], ["--slots", "1"]):
        kind = options if options[:1] in (["-s"], ["--slots"]) else []
        other = ["-x"] if kind == ["-s"] else kind
        holder = hold(t, *options)
        early = t.start("run", *other, "a", "--", "echo", "mine")
        t.waiting("a", 1)
        kill_both(t, holder)
        t.until("the command itself is ended", lambda holder=holder: state_of(holder.command) in "ZX")
        late = t.start("run", *other, "a", "--", "echo", "mine")
        t.waiting("a", 2)
        t.equal(t.run("try", *other, "a", "true").code, 75)
        t.true(is_alive(t), "its child was ended")
        begin = time.monotonic()
        t.path("go").touch()
        t.equal((t.finish(early).out, t.finish(late).out), ("mine\n", "mine\n"))
        # A waiter that is not told looks again after two seconds.
        t.true(time.monotonic() - begin < 1.5, f"took {time.monotonic() - begin:.1f} s")


@case
def with_close_the_next_does_not_wait(t):
    closes = "for fd in /proc/$$/fd/*; do fd=${fd##*/}; [ $fd -gt 9 ] && eval \"exec $fd>&-\"; done;"
    closes = f"bash -c '{closes} . $D/really'\n"
    for options, daemon in ((["-o"], DAEMON), (["--close"], DAEMON), (["--leftovers", "leave"], DAEMON),
                            ([], closes)):
        t.path("really").write_text(DAEMON)
        holder = hold(t, *options, daemon=daemon if daemon is DAEMON else f"exec {daemon}")
        kill_both(t, holder)
        t.equal(t.run("run", "-w", "20", "a", "--", "echo", "mine").out, "mine\n", f"{options}")
        t.true(is_alive(t), "its child was ended")
        t.path("go").touch()
        t.until("nothing is left", lambda: not t.processes())


@case
def one_of_them_alone_changes_nothing(t):
    """The other ends the tree, and the lock is free at once; leftovers may be left."""
    for victim in ("holdfast", "guardian"):
        holder = hold(t)
        os.kill(holder.pid if victim == "holdfast" else t.guardian(holder), signal.SIGKILL)
        t.equal(t.run("run", "-w", "20", "a", "--", "echo", "mine").out, "mine\n")
        t.true(not is_alive(t), f"its child outlived the {victim}")
        t.finish(holder)
    t.path("daemon").write_text(DAEMON)
    t.path("up").unlink()
    leaves = "setsid sh $D/daemon </dev/null >/dev/null 2>&1 & until test -e $D/up; do sleep 0.01; done"
    t.equal(t.run("run", "--leftovers", "leave", "a", "--", "sh", "-c", leaves).code, 0)
    t.equal(t.run("try", "a", "--", "echo", "mine").out, "mine\n")
    t.true(is_alive(t), "it was not left")
    t.path("go").touch()


def descriptors(t, *options):
    """What the command has open: {number: path}."""
    done = t.run("run", *options, "a", "--", "sh", "-c", "ls -l /proc/$$/fd; true")
    t.equal(done.code, 0, done.err)
    words = [line.split() for line in done.out.splitlines() if " -> " in line]
    return {int(word[-3]): word[-1] for word in words}


@case
def its_descriptors_are_high_and_cannot_be_written_to(t):
    plain = descriptors(t, "-o")
    t.equal([fd for fd in plain if fd > 2], [])
    both = {fd: what for fd, what in descriptors(t).items() if fd > 2}
    t.equal(sorted(both), [700, 701])
    t.equal(sorted(what.rpartition("/")[0] for what in both.values()), [str(t.folder), f"{t.folder}/locks.db-wake"])
    nested = t.run("run", "a", "--", HOLDFAST, "run", "b", "--", "sh", "-c", "ls /proc/$$/fd")
    t.equal([fd for fd in nested.out.split() if int(fd) > 2], ["700", "701", "702", "703"], nested.err)
    t.equal(t.run("run", "a", "--", "bash", "-c", "echo no >&701").code != 0, True, "the file can be written to")


@case
def with_few_descriptors_they_are_low_but_not_those_of_scripts(t):
    done = t.run("-c", 'ulimit -n 60; exec "$HF" run a -- sh -c "ls /proc/\\$\\$/fd"', executable="/bin/bash")
    fds = [int(fd) for fd in done.out.split() if int(fd) > 2]
    t.true(len(fds) == 2 and min(fds) >= 10, f"{fds} {done.err}")


@case
def an_inner_run_outlives_the_outer_one_and_keeps_both(t):
    """Both of the outer run are killed; the inner run is its descendant."""
    t.path("really").write_text(DAEMON)
    holder = hold(t, daemon='exec "$HF" run b -- sh $D/really')
    t.until("the inner one is up", t.path("up").exists)
    kill_both(t, holder)
    for name in "ab":
        t.equal(t.run("try", name, "true").code, 75, name)
    t.path("go").touch()
    for name in "ab":
        t.equal(t.run("run", "-w", "20", name, "--", "echo", "mine").out, "mine\n", name)


@case
def the_guardian_is_not_called_holdfast(t):
    holder = hold(t)
    t.equal(name_of(holder.pid), "holdfast")
    t.lacks(name_of(t.guardian(holder)), "holdfast")
    t.path("go").touch()
    t.equal(t.finish(holder).code, 0)


main()
