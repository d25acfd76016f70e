#!/usr/bin/env -S python3 -B
"""errors - mistakes in the URL and in names, and servers that are up but useless: each gives one clear
line, in time.  (test/fault has servers that cannot be reached.)"""
import json
import socket

from holders import *  # noqa: F403

cluster = None


def zk(rest=""):
    return f"zk://{cluster.address}{rest}"


# ---- Servers ---------------------------------------------------------------------------


@case
def a_server_that_hangs_up(t):
    def talk(link):
        link.recv(4096)
        link.shutdown(socket.SHUT_RDWR)
    with peer(talk) as where:
        refused(t, 69, f"{where} does not accept us", "run", "-w", "0.5", "a", "--url", f"zk://{where}",
                "--", "true")


@case
def one_good_server_of_two_is_enough(t):
    with answering(b"") as deaf, nobody() as dead:
        for first in (deaf, dead):
            works(t, f"zk://{first},{cluster.address}")
            works(t, f"zk://{cluster.address},{first}")


@case
def a_server_without_a_quorum(t):
    """A server that is not in read-only mode hangs up, like one that expects TLS."""
    for read_only, mode, says in (
            (True, "read-only", "is read-only: it has lost its quorum"),
            (False, None, "does not accept us (does it have a quorum? or does it speak TLS? then write zks:)")):
        with zookeeper.ensemble(3, read_only=read_only) as three:
            lone = three[1].address
            t.equal(t.run("run", "a", "--url", f"zk://{three.address}", "--", "true").code, 0)
            three[2].kill()
            three[3].kill()
            t.until("the last server has noticed", lambda: three[1].mode() == mode)
            out_of_reach(t, f"zk://{lone}", f"{lone} {says}")


# ---- URLs ------------------------------------------------------------------------------


@case
def invalid_urls(t):
    open_file = t.path("open")
    open_file.write_text("ana:hunter2\n")
    open_file.chmod(0o644)
    for rest, says in (
            ("?session=1s", "use 2s to 3600s"), ("?session=long", "write session=30s"),
            ("?style=foo", "use curator or kazoo"), ("?acl=creator", "name an identity"),
            ("?acl=mine", "use creator, open, or"), ("?frob=1", 'has no parameter "frob"'),
            ("?ca=/x", "write zks: to use ca"), ("//a", "write /name/name"),
            (f"?auth={open_file}", "chmod 600 it"), (f"?auth={open_file}.not", "No such file")):
        for args in (["run", "a", "true"], ["show", "a"], ["doctor"]):
            done = refused(t, 64, says, args[0], "--url", zk(rest), *args[1:])
            t.lacks(done.err, "hunter2")
    for url in ("zk:", "zk://", "zk:///a", "zk://h:0", "zk://h:port", "zk://ana@h"):
        refused(t, 64, "store URL: no ", "run", "a", "--url", url, "--", "true")


@case
def a_missing_chroot(t):
    for args in (["run", "-w", "2", "a", "--", "true"], ["run", "-n", "a", "--", "true"], ["show", "a"],
                 ["list"], ["break", "a", "--yes"], ["check", "a", "--token", "1"]):
        refused(t, 69, "ZooKeeper has no node /not/there, the chroot of the store URL; "
                "`holdfast init` makes it",
                *args[:1], "--url", zk("/not/there"), *args[1:])
    done = t.run("doctor", "--json", "--url", zk("/not/there"))
    t.equal((done.code, done.err), (78, ""))
    fault, = [finding for finding in json.loads(done.out) if finding["level"] == "fault"]
    t.contains(fault["text"], "no node /not/there")
    t.contains(fault["advice"], "holdfast init")


@case
def init_creates_the_chroot(t):
    t.env["HOLDFAST_URL"] = zk("/made/by/init")
    t.equal(t.run("try", "a", "--", "true").code, 69, "before")
    for _ in range(2):
        done = t.run("init")
        t.equal((done.code, done.err), (0, ""))
        t.contains(done.out, "/made/by/init is ready for use\n")
    t.equal(t.run("try", "a", "--", "true").code, 0, "after")
    done = t.run("init", "--url", zk("/zookeeper/quota/../no"))
    t.equal(done.code, 64, "an invalid path")
    done = t.run("init", "--url", zk("/zookeeper/config/below"))
    t.equal((done.code, done.out), (69, ""))
    t.one_line(done.err)
    t.contains(done.err, "/zookeeper/config/below")


@case
def a_server_that_allows_only_short_sessions(t):
    with zookeeper.standalone(tick=50) as hasty:
        refused(t, 69, "raise maxSessionTimeout", "run", "-w", "0.5", "a", "--url", f"zk://{hasty.address}",
                "--", "true")


# ---- Names -----------------------------------------------------------------------------


@case
def names_that_are_too_long_or_invalid(t):
    for name in ("x" * 256, "é" * 128, "a/b", "..", "...", "", "a\nb"):
        refused(t, 64, "lock name", "run", "--url", zk(), name, "--", "true")
        refused(t, 64, "lock name", "show", "--url", zk(), name)


@case
def names_of_all_kinds(t):
    names = ["x" * 255, "é" * 127, "a%b", "%41", "100%", ".hidden", "a.b", "zookeeper", "a b",
             "😀", "claim", "quota", "+", "a@b", "ſ"]
    t.env["HOLDFAST_URL"] = zk("/names")
    with zkwire.Client(cluster.address, session_ms=20000) as witness:
        witness.create("/names")
        for name in names:
            holder = t.hold(name)
            t.equal([entry["name"] for entry in t.list()], [name])
            done = t.run("run", "-n", name, "--", "true")
            t.equal(done.code, 75, name)
            t.contains(t.run("show", name).out, f":{holder.pid} ")
            t.equal(t.run("doctor", name).code, 0, name)
            t.end(holder)
        folders = set(witness.children("/names"))
        t.equal(len(folders), len(names), "folders")
        t.true("zookeeper" not in folders, f"{folders}")
        witness.delete_all("/names")
        t.true("zookeeper" in witness.children("/"), "/zookeeper is touched")
    t.env["HOLDFAST_URL"] = zk()


if __name__ == "__main__":
    with store("zk"), zookeeper.standalone(config={"maxSessionTimeout": 20000}) as cluster:
        hf.main()
