#!/usr/bin/env -S python3 -B
"""outage - the server is unreachable: a client that waits, holds or watches reports it once, with
server and reason, and again when it is back; a one-shot command fails soon."""
import concurrent.futures
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import redis  # noqa: E402

SOON = 4.0  # seconds: one, plus a margin for a busy machine


def said(t, process, path, part, times=1):
    """Its stderr, once that contains the text."""
    t.until(f"{part!r} is said", lambda: part in path.read_text(), 20)
    t.equal(path.read_text().count(part), times, path.read_text())
    t.true(process.poll() is None, path.read_text())
    return path.read_text()


@contextlib.contextmanager
def started(t, *args):
    path = t.path(f"err.{len(t.started)}")
    with path.open("wb") as err:
        process = t.start(*args, stderr=err, stdin=subprocess.PIPE)
        yield process, path
        process.terminate()
        process.wait(hf.LIMIT)


@case
def a_waiter_reports_an_outage_once(t):
    with nobody() as where:
        url = f"redis://:{SECRET}@{where}"
        for args in (["run", "a", "--url", url, "--", "true"], ["elect", "a", "--url", url, "--", "true"],
                     ["hold", "a", "--url", url], ["watch", "a", "--url", url],
                     ["run", "-w", "20", "a", "--url", url, "--", "true"],
                     ["elect", "--observe", "a", "--url", url]):
            with started(t, *args) as (process, path):
                endless = args[0] != "watch" and "-w" not in args and "--observe" not in args
                until = " until you press Ctrl-C (-w TIME sets a limit)" if endless else ""
                text = said(t, process, path, f"Redis at {where} cannot be reached: connection "
                                              f"refused; trying again{until}\n")
                t.equal(text.count("\n"), 1, args)
                t.lacks(text, SECRET)


@case
def quiet_suppresses_the_report(t):
    with nobody() as where, started(t, "run", "-q", "a", "--url", f"redis://{where}", "--",
                                   "true") as (quiet, path), \
            started(t, "run", "a", "--url", f"redis://{where}", "--", "true") as (loud, other):
        said(t, loud, other, "trying again")
        t.true(quiet.poll() is None, "it ended")
        t.equal(path.read_text(), "")


@case
def a_terminal_shows_the_outage_in_the_waiting_line(t):
    with nobody() as where:
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(hf.HOLDFAST, ["holdfast", "run", "a", "--url", f"redis://{where}", "--",
                                    "true"], dict(t.env, TERM="xterm", COLUMNS="200"))
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        text, line = "", '\r\x1b[Kholdfast: waiting for "a": Redis at '
        while text.count(line) < 3:  # it keeps waiting
            t.true(select.select([terminal], [], [], 20)[0], f"nothing more after {text!r}")
            text += os.read(terminal, 4096).decode()
        t.contains(text, f"{where} cannot be reached: connection refused; trying again")
        t.lacks(text, "\n")
        os.kill(pid, signal.SIGTERM)
        with contextlib.suppress(OSError):  # end of its output
            while os.read(terminal, 4096):
                pass
        os.waitpid(pid, 0)
        os.close(terminal)


@case
def a_one_shot_command_fails_soon(t):
    with nobody() as where, concurrent.futures.ThreadPoolExecutor(8) as pool:
        for url in (f"redis://{where}", f"zk://{where},{where}",
                    f"postgres://a@{where}/x"):
            if url.split(":")[0] not in t.run("version").out.split():
                continue
            verbs = [["run", "-n", "a", "--url", url, "--", "true"], ["list", "--url", url],
                     ["show", "a", "--url", url], ["doctor", "--url", url], ["ask", "a", "--url", url],
                     ["check", "a", "--token", "5", "--url", url]]
            for args, done in zip(verbs, pool.map(lambda args: t.run(*args), verbs)):
                t.equal(done.code, 69, f"{args}: {done.err}")
                t.contains(done.out + done.err, "cannot be reached: connection refused")
                t.true(done.seconds < SOON, f"{args} took {done.seconds:.1f} s")


@case
def a_holder_reports_time_left_and_the_servers_return(t):
    with redis.standalone() as server:
        url = f"redis://{server.address}?ttl=8s"
        flag = t.path("up")
        with started(t, "run", "a", "--url", url, "--", "sh", "-c", f"touch {flag}; sleep 1000") as (run, path):
            t.until("it holds", flag.exists)
            with started(t, "hold", "b", "--url", url) as (hold, other):
                said(t, hold, other, "holding")
                server.kill()
                for process, out, name in ((run, path, "a"), (hold, other, "b")):
                    text = said(t, process, out, f'; trying again: "{name}" is safe for ')
                    left = int(text.split(" is safe for another ")[1].split(" s")[0])
                    t.true(1 <= left < 8, text)
                    t.contains(text, f"Redis at {server.address} ")
                server.start()
                for process, out in ((run, path), (hold, other)):
                    said(t, process, out, "the store can be reached again, after ")
                    t.equal(out.read_text().count("safe for"), 1)


if __name__ == "__main__":
    with store("redis"):
        hf.main()
