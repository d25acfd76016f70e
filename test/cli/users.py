"""users.py - real users for tests of the command: two members of a group, and an outsider.

They are users by their numbers alone, which takes root.  `t.gid` is the group."""
from hf import *

ANA, BEN, EVE = 20001, 20002, 20003


def identity(t, user):
    """What subprocess needs to be somebody; Ana and Ben are in the group, Eve is not."""
    return {} if user == 0 else {"user": user, "group": user,
                                 "extra_groups": [] if user == EVE else [t.gid]}


def start(t, user, *args, umask=0o077, **more):
    """Start holdfast as somebody."""
    return t.start(*args, umask=umask, **{**identity(t, user), **more})


def run(t, user, *args, **more):
    return t.finish(start(t, user, *args, **more))


def hold(t, user, name, **more):
    """Start a run that holds `name` until ended; returns when it holds."""
    process = start(t, user, "run", name, "--", "sh", "-c", "echo on; exec sleep 1000", **more)
    t.equal(process.stdout.readline(), b"on\n")
    return process


def need_root(t):
    if os.geteuid() != 0:
        raise Skip("only root can be other users")
    t.folder.chmod(0o755)
    if run(t, ANA, "version").code != 0:
        raise Skip("other users cannot run the program where it is")
    t.env["HOME"] = "/nonexistent"


def kills(t, pairs):
    """Whoever is killed while he holds, and while he waits: the next has it at once, and
    nothing is left."""
    for dead, heir in pairs:
        holder = hold(t, dead, "a")
        waiter = start(t, dead, "run", "a", "--", "true")  # is killed, too
        t.waiting("a", 1)
        next_one = start(t, heir, "run", "a", "--", "echo", "mine")
        t.waiting("a", 2)
        for pid in (waiter.pid, holder.pid, t.guardian(holder)):
            os.kill(pid, signal.SIGKILL)
        done = t.finish(next_one)
        t.equal((done.code, done.out), (0, "mine\n"), done.err)
        waiter.wait()
        holder.wait()
        # Whoever comes next, of either of them, removes what they left.
        t.equal(run(t, heir, "run", "b", "true").code, 0)
        t.equal(list(t.wake.iterdir()), [], "FIFOs")
