#!/usr/bin/env -S python3 -B
"""names.py - one database under two names.  Its other files are beside each name, so that those who
use one would not see the locks of the other: it is refused."""
from hf import *

LINKED = "has more than one name (hard links)"
MOUNTED = "is mounted by itself"
OTHERS = ("-live", "-wal", "-shm")


def at(t, name):
    return f"sqlite:{t.folder}/{name}"


def refused(t, done, *parts):
    t.equal(done.code, 69, "exit code of a client that is refused")
    if not done.out.startswith("ok     holdfast"):  # what doctor begins with
        t.equal(done.out, "", "what it said")
        t.one_line(done.err)
    for part in parts:
        t.contains(done.out + done.err, part)


def among(t, mounts, *args):
    """Run holdfast where these mounts, and no others, are made before."""
    script = f'cd "$D" && {mounts} || exit 200; exec "$HF" "$@"'
    how = "-m" if os.geteuid() == 0 else "-rm"
    process = t.start(how, "sh", "-c", script, "sh", *args, called="unshare",
                      executable=shutil.which("unshare"))
    done = t.finish(process)
    if done.code == 200 or done.err.startswith("unshare:"):
        raise Skip(f"no such mounts here: {done.err.strip()}")
    return done


@case
def a_hard_link(t):
    t.equal(t.run("run", "x", "--", "true").code, 0)
    os.link(t.path("locks.db"), t.path("b.db"))
    for name in "locks.db", "b.db":
        for args in ["run", "-n", "x", "echo", "in"], ["list"], ["doctor"]:
            refused(t, t.run(args[0], "--url", at(t, name), *args[1:]), f"{t.folder}/{name} {LINKED}")
    t.path("b.db").unlink()
    t.equal(t.run("run", "-n", "x", "--", "echo", "in").out, "in\n")


@case
def a_hard_link_of_another_file(t):
    keeper = t.hold("y")
    for ending in OTHERS:
        os.link(t.path(f"locks.db{ending}"), t.path("other"))
        refused(t, t.run("run", "-n", "x", "--", "echo", "in"), f"locks.db{ending} {LINKED}")
        t.path("other").unlink()
    t.equal(t.end(keeper).code, 143)


@case
def a_hard_link_made_while_it_is_in_use(t):
    """Those who are in stay, and the lock is theirs; nobody comes in by either name."""
    holder = t.hold("x")
    waiter = t.start("run", "x", "--", "echo", "in")
    t.waiting("x", 1)
    os.link(t.path("locks.db"), t.path("b.db"))
    for name in "locks.db", "b.db":
        refused(t, t.run("run", "-n", "--url", at(t, name), "x", "--", "echo", "in"), LINKED)
    t.end(holder)
    t.equal(t.finish(waiter).out, "in\n")
    t.path("b.db").unlink()


@case
def a_mount_of_the_file_alone(t):
    t.equal(t.run("run", "x", "--", "true").code, 0)
    t.path("c").mkdir(mode=0o700)
    t.path("c/locks.db").touch(mode=0o600)
    mount = "mount --bind locks.db c/locks.db"
    holder = t.hold("x")
    for args in ["run", "-n", "--url", at(t, "c/locks.db"), "x", "--", "echo", "in"], \
            ["list", "--url", at(t, "c/locks.db")], ["doctor", "--url", at(t, "c/locks.db")]:
        refused(t, among(t, mount, *args), f"{t.folder}/c/locks.db {MOUNTED}", "mount its folder")
    t.end(holder)


@case
def a_mount_of_another_file_alone(t):
    holder = t.hold("y")
    for ending in OTHERS:
        mount = f"mount --bind locks.db{ending} locks.db{ending}"
        refused(t, among(t, mount, "run", "-n", "x", "--", "echo", "in"), f"locks.db{ending} {MOUNTED}")
    t.end(holder)


@case
def a_mount_of_the_folder_is_fine(t):
    """Both see the locks of each other."""
    t.path("d").mkdir(mode=0o700)
    t.path("e").mkdir(mode=0o700)
    mount = "mount --bind d e"
    t.equal(among(t, mount, "run", "--url", at(t, "e/locks.db"), "x", "--", "echo", "in").out, "in\n")
    holder = t.hold("x", "--url", at(t, "d/locks.db"))
    done = among(t, mount, "run", "-n", "--url", at(t, "e/locks.db"), "x", "--", "echo", "in")
    t.equal((done.code, done.out), (75, ""), "one that comes by the mount")
    t.end(holder)
    mount = "mount -t tmpfs -o mode=700 none d"
    t.equal(among(t, mount, "run", "--url", at(t, "d/locks.db"), "x", "--", "echo", "in").out, "in\n")
    t.equal(among(t, f"{mount} && mkdir d/low d/up d/work && touch d/low/locks.db && "
                     "mount -t overlay -o lowerdir=d/low,upperdir=d/up,workdir=d/work none e && chmod 700 e",
                  "run", "--url", at(t, "e/locks.db"), "x", "--", "echo", "in").out, "in\n")


main()
