#!/usr/bin/env -S python3 -B
"""errors - what can be wrong with a ZooKeeper store: each is one clear line, in time."""
import contextlib
import json
import socket
import threading

from hands import *  # noqa: F403
import place  # where hands.py found the rest

MANY = 10  # seconds that `-w 2` may take on a busy machine
cluster = None


def start():
    global cluster
    cluster = zookeeper.standalone(config={"maxSessionTimeout": 20000})
    return cluster


def zk(rest=""):
    return f"zk://{cluster.address}{rest}"


def refused(t, code, says, *args, **more):
    done = t.run(*args, **more)
    t.equal((done.code, done.out), (code, ""), f"{args}: {done.err}")
    t.one_line(done.err)
    t.contains(done.err, says)
    return done


def unusable(t, url, says):
    """No verb gets anywhere, and each says why, within its time."""
    for args in (["run", "-w", "2", "a", "--", "true"], ["hold", "-w", "2", "a"]):
        done = refused(t, 69, says, args[0], "--url", url, *args[1:])
        t.true(done.seconds < MANY, f"{args[0]} took {done.seconds:.1f} s")
    refused(t, 69, says, "run", "-n", "a", "--url", url, "--", "true")
    done = t.run("doctor", "-w", "2", "--url", url)
    t.equal((done.code, done.err), (69, ""), done.out)
    t.true(done.seconds < MANY, f"doctor took {done.seconds:.1f} s")
    t.contains(done.out, says)


@contextlib.contextmanager
def peer(talk):
    """A server that is none of ZooKeeper's: talk(link) for each connection.  Gives its
    host:port."""
    links = []

    def serve():
        with contextlib.suppress(OSError):
            while True:
                link, _ = listener.accept()
                links.append(link)
                with contextlib.suppress(OSError):
                    talk(link)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for link in links:
                link.close()


# ---- Servers ---------------------------------------------------------------------------


@case
def nobody_listens(t):
    with place.reserve_port() as keeper:
        port = keeper.getsockname()[1]
        unusable(t, f"zk://127.0.0.1:{port}", f"127.0.0.1:{port} cannot be reached: connection refused")


@case
def no_such_host(t):
    host = "no-host-since-it-is-longer-than-the-63-bytes-that-a-label-may-have"  # no DNS is asked
    unusable(t, f"zk://{host}:2181", f"{host}:2181 is not to be found: ")


@case
def another_protocol(t):
    for answer in (b"-ERR unknown command\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(40)):
        def talk(link, answer=answer):
            link.recv(4096)
            link.sendall(answer)
        with peer(talk) as where:
            refused(t, 69, f"{where} does not speak ZooKeeper's protocol",
                    "run", "-w", "2", "a", "--url", f"zk://{where}", "--", "true")


@case
def one_that_hangs_up(t):
    def talk(link):
        link.recv(4096)
        link.shutdown(socket.SHUT_RDWR)
    with peer(talk) as where:
        refused(t, 69, f"{where} does not take us", "run", "-w", "2", "a", "--url", f"zk://{where}",
                "--", "true")


@case
def one_that_says_nothing(t):
    with peer(lambda link: None) as where:
        unusable(t, f"zk://{where}", f"{where} does not answer")


@case
def a_server_that_is_stopped(t):
    cluster[1].freeze()
    try:
        done = refused(t, 69, "does not answer", "run", "-w", "2", "a", "--url", zk(), "--", "true")
        t.true(done.seconds < MANY, f"run took {done.seconds:.1f} s")
    finally:
        cluster[1].thaw()


@case
def one_of_two_is_enough(t):
    with peer(lambda link: None) as deaf, place.reserve_port() as keeper:
        dead = f"127.0.0.1:{keeper.getsockname()[1]}"
        for first in (deaf, dead):
            for url in (f"zk://{first},{cluster.address}", f"zk://{cluster.address},{first}"):
                done = t.run("run", "-w", "10", "a", "--url", url, "--", "echo", "hi")
                t.equal((done.code, done.out, done.err), (0, "hi\n", ""))


@case
def a_server_without_a_quorum(t):
    with zookeeper.ensemble(3, read_only=True) as three:
        lone = three[1].address
        t.equal(t.run("run", "a", "--url", f"zk://{three.address}", "--", "true").code, 0)
        three[2].kill()
        three[3].kill()
        t.until("the last is read-only", lambda: three[1].mode() == "read-only")
        done = refused(t, 69, f"{lone} is read-only: it has lost its quorum",
                       "run", "-w", "2", "a", "--url", f"zk://{lone}", "--", "true")
        t.true(done.seconds < MANY, f"run took {done.seconds:.1f} s")
        done = t.run("doctor", "-w", "2", "--url", f"zk://{lone}")
        t.equal((done.code, done.err), (69, ""))
        t.contains(done.out, "read-only")


# ---- URLs ------------------------------------------------------------------------------


@case
def urls_that_make_no_sense(t):
    open_file = t.path("open")
    open_file.write_text("ana:hunter2\n")
    open_file.chmod(0o644)
    for rest, says in (
            ("?session=1s", "from 2s to 3600s"), ("?session=long", "write session=30s"),
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
def a_chroot_that_is_not_there(t):
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
def a_chroot_that_init_makes(t):
    t.env["HOLDFAST_URL"] = zk("/made/by/init")
    t.equal(t.run("try", "a", "--", "true").code, 69, "before")
    for _ in range(2):
        done = t.run("init")
        t.equal((done.code, done.out, done.err),
                (0, "zk: what it needs is there, and we may use it\n", ""))
    t.equal(t.run("try", "a", "--", "true").code, 0, "after")
    done = t.run("init", "--url", zk("/zookeeper/quota/../no"))
    t.equal(done.code, 64, "a path that is none")
    done = t.run("init", "--url", zk("/zookeeper/config/below"))
    t.equal((done.code, done.out), (69, ""))
    t.one_line(done.err)
    t.contains(done.err, "/zookeeper/config/below")


@case
def a_server_that_allows_short_sessions_only(t):
    with zookeeper.standalone(tick=50) as hasty:
        refused(t, 69, "raise maxSessionTimeout", "run", "-w", "2", "a", "--url", f"zk://{hasty.address}",
                "--", "true")


# ---- Names -----------------------------------------------------------------------------


@case
def names_that_are_too_long_or_no_names(t):
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


# ---- Secrets ---------------------------------------------------------------------------


def look_around(t, *args, **more):
    """Everything that somebody else may see of a run: output and processes."""
    seen = t.path("seen")
    script = f"cat /proc/$PPID/cmdline /proc/self/environ >{seen}; ps -eo args >>{seen}"
    done = t.run("run", "-v", *args, "a", "--", "sh", "-c", script, **more)
    t.equal(done.code, 0, done.err)
    text = seen.read_bytes().decode(errors="replace")
    t.contains(text, "HOLDFAST_TOKEN=")
    seen.unlink()
    return done.out + done.err + text


@case
def passwords_are_not_shown(t):
    secret = "ana:hunter2"
    file, url_file = t.path("auth"), t.path("url")
    for path, text in ((file, secret), (url_file, f"zk://{secret}@{cluster.address}\n")):
        path.touch(mode=0o600)
        path.write_text(text)
    t.lacks(look_around(t, "--url", f"zk://{secret}@{cluster.address}"), "hunter2")
    t.lacks(look_around(t, "--url-file", str(url_file)), "hunter2")
    t.lacks(look_around(t, "--url", zk(f"?auth={file}")), "hunter2")
    t.lacks(look_around(t, env={"HOLDFAST_URL": f"zk://{secret}@{cluster.address}"}), "hunter2")
    t.lacks(look_around(t, "--url", zk(), env={"HOLDFAST_ZK_AUTH": secret}), "hunter2")
    for url in (f"zk://{secret}@{cluster.address}", f"zk://{secret}@127.0.0.1:1",
                f"zk://{secret}@{cluster.address}/nothing", f"zk://{secret}@{cluster.address}?x=1",
                f"zk://{secret}/x@{cluster.address}", f"zk://{secret}"):
        for args in (["doctor", "-w", "1"], ["run", "-w", "1", "a", "true"]):
            done = t.run(*args, env={"HOLDFAST_URL": url})
            t.lacks(done.out + done.err, "hunter2")


if __name__ == "__main__":
    play(start)
