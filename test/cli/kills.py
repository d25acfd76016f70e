#!/usr/bin/env -S python3 -B
"""kills.py - kill -9 of each process around a command: nothing of it outlives the
lock, and nothing else is ended.  With and without children that holdfast had before
(`x & exec holdfast run`), with and without a control group."""
from hf import *

# A child in the command's group, one in a session of its own, one that left by a
# double fork.  What the command started has "member" in its command line.
COMMAND = """
setsid sh -c ': member; while :; do sleep 0.02; done' &
( sh -c ': member; while :; do sleep 0.02; done' & )
sh -c ': member; while :; do sleep 0.02; done' &
echo $$ >$D/up.new; mv $D/up.new $D/up
: member; while :; do sleep 0.02; done
"""

# The older child starts one of its own and leaves it behind only when told to: by
# then holdfast has long been there.
OLDER = """
sh -c ': older; sh -c ": older; while :; do sleep 0.02; done" &
       until test -e $D/orphan; do sleep 0.01; done' 2>/dev/null &
sh -c ': older; while :; do sleep 0.02; done' 2>/dev/null &
"""

# Lists what is alive of this case's commands.
PROBE = """
import glob, sys
for path in glob.glob("/proc/[0-9]*"):
    try:
        with open(path + "/environ", "rb") as file: environ = file.read()
        with open(path + "/cmdline", "rb") as file: line = file.read()
        with open(path + "/stat") as file: state = file.read().rpartition(")")[2].split()[0]
    except OSError: continue
    if sys.argv[1].encode() in environ and b": member" in line and state not in "ZX": print(path)
"""

# The mount is this process's own.
WITHOUT_CGROUP = ["unshare", "-m", "sh", "-c",
                  'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"]


class Set:
    """A run with its guardians, its command, and perhaps older children."""

    def __init__(self, t, older, cgroup):
        self.t = t
        t.path("command").write_text(COMMAND)
        start = ["sh", "-c", (OLDER if older else "") + 'exec "$HF" run a -- sh $D/command']
        if not cgroup and os.geteuid() == 0:
            start = WITHOUT_CGROUP + start
        self.process = subprocess.Popen(start, env=t.env, stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        self.process.begin = time.monotonic()
        t.started.append(self.process)
        t.until("the command is up", t.path("up").exists)
        t.until("all of it is up", lambda: len(self.called("member")) == 4)
        if older:
            t.path("orphan").touch()
            t.until("the older child has left one", lambda: len(self.called("older")) == 2)
        self.pids = self.find()

    def called(self, word):
        return [pid for pid, command in self.t.processes().items() if f": {word};" in command
                and "sh -c" in command or word == "member" and "/command" in command
                and "run a" not in command]

    def find(self):
        """Each of them, by name."""
        names = {"hf-guardian": "guardian", "hf-outer": "outer guardian"}
        found = {names[name_of(pid)]: pid for pid in self.t.processes() if name_of(pid) in names}
        return {"holdfast": self.process.pid, **found}


def waiter_that_looks(t):
    """The next in line, which looks for survivors as its first act."""
    t.path("probe").write_text(PROBE)
    waiter = t.start("run", "-q", "a", "--", sys.executable, t.path("probe"), t.mark)
    t.waiting("a", 1)
    return waiter


def only_older_are_left(t, everything, older, what):
    t.until(f"{what}: nothing of the command is left", lambda: not everything.called("member"))
    # For a moment, between fork and exec, a sleep has the name of its shell.
    t.until(f"{what}: the older ones alone", lambda: len(everything.called("older")) == (2 if older else 0))
    for pid in everything.called("older"):
        os.kill(pid, signal.SIGKILL)
    t.until("nothing is left", lambda: not t.processes())


def kill_each(t, older, cgroup):
    for victim in ("holdfast", "guardian") + (("outer guardian",) if older else ()):
        for name in ("up", "orphan"):
            t.path(name).unlink(missing_ok=True)
        everything = Set(t, older, cgroup)
        waiter = waiter_that_looks(t)
        os.kill(everything.pids[victim], signal.SIGKILL)
        t.equal(t.finish(waiter).out, "", f"killed {victim}: alive when the next began")
        done = t.finish(everything.process)
        t.equal(done.code, -9 if victim == "holdfast" else 79, f"killed {victim}: exit")
        if victim != "holdfast":
            t.one_line(done.err)
            t.contains(done.err, "guardian was killed")
        only_older_are_left(t, everything, older, f"killed {victim}")


@case
def each_killed_alone(t):
    kill_each(t, False, True)


@case
def each_killed_alone_without_a_control_group(t):
    kill_each(t, False, False)


@case
def each_killed_with_older_children(t):
    kill_each(t, True, True)


@case
def each_killed_with_older_children_without_a_control_group(t):
    kill_each(t, True, False)


@case
def a_killed_guardian_of_a_stopped_holdfast_with_older_children(t):
    """The outer guardian needs nobody's word."""
    everything = Set(t, True, False)
    waiter = waiter_that_looks(t)
    everything.process.send_signal(signal.SIGSTOP)
    t.until("it is stopped", lambda: state_of(everything.process.pid) == "T")
    os.kill(everything.pids["guardian"], signal.SIGKILL)
    t.until("nothing of the command is left", lambda: not everything.called("member"))
    t.end(everything.process, signal.SIGKILL)
    t.equal(t.finish(waiter).out, "")
    only_older_are_left(t, everything, True, "killed both")


@case
def a_guardian_that_hangs_after_a_loss_with_older_children(t):
    everything = Set(t, True, False)
    for name in ("guardian", "outer guardian"):
        os.kill(everything.pids[name], signal.SIGSTOP)
    t.equal(t.run("break", "--yes", "a").code, 0)
    t.equal(t.finish(everything.process).code, 79)
    only_older_are_left(t, everything, True, "hung")


main()
