"""server_process - a server's process, its control socket, and a command line that runs servers.

redis.py, postgres.py and zookeeper.py share this: a process that serves, the socket HF_..._CTL
with one line for each request, and the command line

    test/server/NAME.py KIND [options] -- COMMAND [ARG...]
    test/server/NAME.py ctl VERB [WORD...]      from inside COMMAND
"""
import contextlib
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import time

import sandbox

CERTIFICATES = ("ca", "cert", "key", "other_ca", "other_cert", "other_key")  # see certs.py


class Missing(Exception):
    """A program or library is not installed."""


class Failed(Exception):
    """A server does not work."""


def until(what, true, limit):
    end = time.monotonic() + limit
    while not true():
        if time.monotonic() > end:
            raise Failed(f"timeout after {limit:.0f} s: {what}")
        time.sleep(0.01)


class Process:
    """The process of a server: `self.process` in `self.folder`, with its output in `log`."""
    process = folder = None

    @property
    def pid(self):
        return self.process.pid

    def running(self):
        return self.process is not None and self.process.poll() is None

    def launch(self, argv, **more):
        """`argv` must let it die with us, see sandbox.py."""
        assert not self.running()
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(argv, cwd=self.folder, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=subprocess.STDOUT, **more)

    def wait(self, limit):
        """Until it serves."""
        end = time.monotonic() + limit
        while not self.serves():
            if not self.running() or time.monotonic() > end:
                raise Failed("a server ended or does not serve:\n" + "\n".join(self.complaints()))
            time.sleep(0.005)

    def send(self, number):
        if self.running():
            self.process.send_signal(number)

    def kill(self):
        self.send(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def end(self, number=signal.SIGTERM):
        """Shut it down, as an administrator does; it can be started again."""
        self.send(number)
        self.send(signal.SIGCONT)
        if self.process is None:
            return
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()

    def freeze(self):
        """Returns when none of its threads runs any more."""
        self.send(signal.SIGSTOP)
        end = time.monotonic() + 10
        while self.process is not None and time.monotonic() < end and self.runs():
            time.sleep(0.005)

    def runs(self):
        """Is any of its threads not stopped?"""
        for path in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                if path.read_text().rpartition(")")[2].split()[0] not in "TtZX":
                    return True
        return False

    def thaw(self):
        self.send(signal.SIGCONT)

    def complaints(self, count=8):
        """The last lines of its log."""
        log = self.folder / "log"
        return log.read_text(errors="replace").splitlines()[-count:] if log.exists() else []


def started(thing):
    """Start it; if that fails, stop it."""
    try:
        thing.start()
    except BaseException:
        thing.stop()
        raise
    return thing


# ---- The control socket -------------------------------------------------------------------------


def serve_control(answer, listener):
    """One line in, one answer out.  An error is reported, and the servers go on."""
    link, _ = listener.accept()
    with link:
        link.settimeout(5)
        try:
            text = f"ok {answer(link.makefile().readline()) or ''}".rstrip()
        except Exception as error:
            text = f"error {error}"
        with contextlib.suppress(OSError):
            link.sendall(f"{text}\n".encode())


def run(argv, prefix, env, folder, answer, servers):
    """Run a command while the servers run.  `prefix`: HF_REDIS, of `env` and the socket;
    `answer(line)` handles a request.  Returns the command's status as a shell would."""
    control = str(folder / "ctl")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(control)
        listener.listen(16)
        process = subprocess.Popen(sandbox.dying_with_us(argv),
                                   env=os.environ | env | {f"{prefix}_CTL": control})
        ended = os.pidfd_open(process.pid)
        try:
            while ended not in (ready := select.select([listener, ended], [], [])[0]):
                serve_control(answer, ready[0])
        finally:
            os.close(ended)
            if process.poll() is None:
                process.terminate()
            status = process.wait()
    if status not in (0, 77):
        for number, server in enumerate(servers, 1):
            for text in server.complaints():
                print(f"# server {number}: {text}")
    return status if status >= 0 else 128 - status


def tell(prefix, words):
    """One request, from inside the command."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(os.environ[f"{prefix}_CTL"])
        link.sendall(f"{' '.join(words)}\n".encode())
        said = link.makefile().read().strip()
    word, _, rest = said.partition(" ")
    print(rest if word == "ok" else said)
    return 0 if word == "ok" else 1


def certificates(prefix, tls):
    """Their variables for the environment."""
    return {f"{prefix}_{name.upper()}": str(tls[name]) for name in CERTIFICATES} if tls else {}


# ---- The command line --------------------------------------------------------------------


def main(argv, kinds, prefix, doc, start):
    """`start(kind, options, command)`: the arguments before and behind the "--"."""
    kind, rest = (argv or [""])[0], argv[1:]
    if kind == "ctl":
        return tell(prefix, rest)
    if kind not in kinds or "--" not in rest:
        print(doc, file=sys.stderr)
        return 64
    middle = rest.index("--")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        return start(kind, rest[:middle], rest[middle + 1:])
    except Missing as reason:
        print(f"# SKIP {reason}")
        return 77
