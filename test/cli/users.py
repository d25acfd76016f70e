"""users.py - real users for tests of the command: two members of a group, and an outsider.

They are users by their numbers alone, which takes root.  `t.gid` is the group."""
import struct
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
    """A holder or a waiter is killed: the next has it at once, and
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
        # The next client of either user removes what they left.
        t.equal(run(t, heir, "run", "b", "true").code, 0)
        t.equal(list(t.wake.iterdir()), [], "FIFOs")


class Member:
    """Ana, in a process that does `act` and then waits to be killed."""

    def __init__(self, t, act):
        here, there = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(here)
            os.setgroups([t.gid])
            os.setgid(ANA)
            os.setuid(ANA)
            kept = act()  # what it returns stays open
            os.write(there, b"ready" if kept else b"")
            signal.pause()
        os.close(there)
        self.said = os.read(here, 5)
        os.close(here)
        t.equal(self.said, b"ready", "what the member said")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def put_journal(database, victim):
    """Put a journal beside it.  When SQLite has played that back, it removes the victim."""
    size = struct.unpack(">H", database.read_bytes()[16:18])[0]
    magic = bytes.fromhex("d9d505f920a163d7")
    head = magic + struct.pack(">5I", 0, 0, database.stat().st_size // size, 512, size)
    name = str(victim).encode()
    os.umask(0)
    journal = pathlib.Path(f"{database}-journal")
    journal.touch(0o660)
    journal.write_bytes(head.ljust(512, b"\0") + struct.pack(">I", 0x40000000 // size + 1) + name +
                        struct.pack(">II", len(name), sum(name)) + magic)
    return True
