"""command - for tests of the command on real servers: what it prints, and fake servers.

    import sys

    sys.path.append(f"{sys.path[0]}/../server")
    from command import *  # noqa: E402,F403
    import redis  # noqa: E402

    @case
    def a_plain_fact(t): ...               see test/cli/hf.py

    if __name__ == "__main__":
        with store("redis"), redis.standalone() as server:
            hf.main()
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build"))
os.environ.setdefault("HOLDFAST", str(BUILD / "holdfast"))
sys.path[:0] = [str(ROOT / "test/cli"), str(ROOT / "test/server")]
import server_process  # noqa: E402
import hf  # noqa: E402
import sandbox  # noqa: E402
from hf import case, Failure  # noqa: E402,F401

MANY = 6.0  # seconds that `-w 0.5` may take on a busy machine
SOON = 6.0  # seconds for what needs no waiting, on a busy machine
SECRET = f"hunter{os.getpid()}canary"  # of no other test


@contextlib.contextmanager
def store(name):
    """Skip all cases if this build has no such store, or the server is not installed."""
    sys.argv[1:] = [arg for arg in sys.argv[1:] if not os.path.isdir(arg)]  # the build folder
    version = subprocess.run([hf.HOLDFAST, "version"], stdout=subprocess.PIPE, text=True)
    try:
        if name not in version.stdout.split():
            raise server_process.Missing(f"the store {name} is not in this build")
        yield
    except server_process.Missing as reason:
        print(f"1..0 # SKIP {reason}")
        sys.exit(77)


def all_of(process):
    """The pids of a run: holdfast, its guardian, the command and its children."""
    pids = [process.pid]
    for pid in pids:
        pids += hf.children_of(pid)
    return pids


def kill_all_of(process):
    """Kill them all at once: nobody is left to tell the server that the lock is free."""
    pids = all_of(process)
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sig)
    process.wait()


# ---- Output of the command ---------------------------------------------------------------


def refused(t, code, says, *args, limit=SOON, **more):
    """It prints one clear line, in time, without the password."""
    done = t.run(*args, **more)
    t.equal((done.code, done.out), (code, ""), f"{args}: {done.err}")
    t.one_line(done.err)
    t.contains(done.err, says)
    t.lacks(done.err, SECRET)
    t.true(done.seconds < limit, f"{args} took {done.seconds:.1f} s")
    return done


def out_of_reach(t, url, says):
    """The server may come back, so the command waits, but no longer than -w says."""
    refused(t, 69, says, "run", "-w", "0.5", "a", "--url", url, "--", "true", limit=MANY)
    done = t.run("doctor", "-w", "0.5", "--url", url)
    t.equal((done.code, done.err), (69, ""), done.out)
    t.contains(done.out, says)
    t.lacks(done.out, SECRET)
    t.true(done.seconds < MANY, f"doctor took {done.seconds:.1f} s")


def unusable(t, url, says, code=69):
    """Waiting would not help, so every verb says why at once."""
    refused(t, code, says, "run", "-w", "9", "a", "--url", url, "--", "true")
    refused(t, code, says, "try", "a", "--url", url, "--", "true")
    refused(t, code, says, "list", "--url", url)


def works(t, url, **more):
    done = t.run("run", "-q", "-w", "9", "a", "--url", url, "--", "echo", "hi", **more)
    t.equal((done.code, done.out, done.err), (0, "hi\n", ""), url)


def findings(t, url, *args, code=0):
    """The findings of doctor: {about: finding}"""
    done = t.run("doctor", "--json", *args, "--url", url)
    t.equal((done.code, done.err), (code, ""), done.out)
    return {finding["about"]: finding for finding in json.loads(done.out)}


def levels(found):
    return {about: finding["level"] for about, finding in found.items() if finding["level"] != "ok"}


def tells(t, found, level, about, text, advice=""):
    t.equal(found[about]["level"], level, about)
    t.contains(found[about]["text"], text)
    t.contains(found[about]["advice"], advice)


def is_like(t, found, about, pattern):
    t.true(re.fullmatch(pattern, found[about]["text"]), found[about]["text"])


def look_around(t, *args, **more):
    """Everything that others may see of a run: output and processes."""
    seen = t.path("seen")
    script = f"cat /proc/$PPID/cmdline /proc/self/environ >{seen}; ps -eo args >>{seen}"
    done = t.run("run", "-v", *args, "a", "--", "sh", "-c", script, **more)
    t.equal(done.code, 0, done.err)
    text = seen.read_bytes().decode(errors="replace")
    t.contains(text, "HOLDFAST_TOKEN=")
    seen.unlink()
    return done.out + done.err + text


# ---- Fake servers, and programs between us and a server ------------------------------------------------


@contextlib.contextmanager
def nobody():
    """Gives a host:port that is reserved, and where nothing listens."""
    with sandbox.reserve_port() as keeper:
        yield f"127.0.0.1:{keeper.getsockname()[1]}"


@contextlib.contextmanager
def listening(serve_one, host="127.0.0.1", own_port=0):
    """Gives its host:port.  Calls serve_one(link, keep) for each connection, in a thread of its own;
    sockets passed to keep() are shut down and closed at the end, too."""
    links, threads = [], []

    def keep(link):
        links.append(link)
        return link

    def serve_link(link):
        with contextlib.suppress(OSError):
            serve_one(link, keep)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                link, _ = listener.accept()
                threads.append(threading.Thread(target=serve_link, args=(keep(link),)))
                threads[-1].start()

    with socket.create_server((host, own_port)) as listener:
        threads.append(threading.Thread(target=serve))
        threads[0].start()
        try:
            yield f"{host}:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            threads[0].join()
            for link in links:
                with contextlib.suppress(OSError):
                    link.shutdown(socket.SHUT_RDWR)
            for thread in threads[1:]:
                thread.join()
            for link in links:
                link.close()


def peer(talk):
    """A fake server: calls talk(link) for each connection."""
    return listening(lambda link, _keep: talk(link))


def answering(data):
    """A fake server that gives this answer to everything; b"": it stays silent."""
    def talk(link):
        link.recv(4096)
        link.sendall(data)
    return peer(talk if data else lambda link: None)


def carry(source, sink, change):
    """Copy until one of them ends; then end both."""
    with contextlib.suppress(OSError):
        while (data := source.recv(65536)) and (data := change(data)) is not None:
            sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def between(port, change, host="127.0.0.1"):
    """A program between us and a server: change(from the server?, data) returns the data to pass on,
    or None to end the connection."""
    def serve_one(near, keep):
        far = keep(socket.create_connection(("127.0.0.1", port)))
        back = threading.Thread(target=carry, args=(far, near, lambda data: change(True, data)))
        back.start()
        carry(near, far, lambda data: change(False, data))
        back.join()
    return listening(serve_one, host)
