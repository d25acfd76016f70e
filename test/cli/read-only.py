#!/usr/bin/env -S python3 -B
"""read-only.py - a store on a file system that is mounted read-only, as a container may have it:
list, show and doctor print the holders, and nothing else works."""
from hf import *

READ_ONLY = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
             'mount --bind "$D" "$D" && mount -o remount,bind,ro "$D" && exec "$@"', "sh"]


def look(t, *args):
    """Run holdfast where the folder of the store cannot be written to."""
    return t.run(*READ_ONLY[1:], HOLDFAST, *args, executable=READ_ONLY[0], called=READ_ONLY[0])


def need_mounts(t):
    if t.run(*READ_ONLY[1:], "true", executable="unshare", called="unshare").code != 0:
        raise Skip("no mount namespaces here")


@case
def holders_are_shown(t):
    need_mounts(t)
    t.equal((look(t, "list").code, look(t, "list").out), (0, ""), "before there is a store")
    holder = t.hold("a")
    for _ in range(2):
        t.contains(look(t, "list").out, "a     mutex")
        t.contains(look(t, "show", "a").out, "holds")
        t.equal(look(t, "show", "b").code, 1)
    t.equal(look(t, "doctor").code, 0)
    t.equal(look(t, "run", "-n", "a", "--", "true").code, 75)
    holder.terminate()
    t.finish(holder)
    t.equal(look(t, "show", "a").code, 1, "given up")


@case
def a_store_that_nobody_has_open(t):
    need_mounts(t)
    t.equal(t.run("run", "a", "--", "true").code, 0)
    done = look(t, "list")
    t.equal((done.code, done.out, done.err), (0, "", ""))
    done = look(t, "doctor")
    t.equal(done.code, 0, done.out + done.err)


@case
def a_lock_cannot_be_acquired(t):
    need_mounts(t)
    for _ in range(2):
        done = look(t, "run", "b", "--", "echo", "never")
        t.equal((done.code, done.out), (69, ""))
        t.one_line(done.err)
        t.contains(done.err, "Read-only file system")
        t.equal(t.run("run", "a", "--", "true").code, 0)  # now there is a store


main()
