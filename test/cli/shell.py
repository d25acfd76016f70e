"""shell.py - a shell at a terminal of its own, for tests that type."""
import pty
import re
import select
from hf import *


BASH = ["bash", "--norc", "--noprofile", "--noediting", "-i"]


class Shell:
    """A program, usually bash, on a terminal of its own."""

    def __init__(self, t, argv=BASH, greeting=r"\$ $"):
        self.t, self.text, self.all = t, "", ""
        env = dict(t.env, PS1="$ ", TERM="dumb", HISTFILE="")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, env)
        self.expect(greeting)

    def send(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern):
        """Read until the pattern matches what came since the last match."""
        end = time.monotonic() + LIMIT
        while not (match := re.search(pattern, self.text)):
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise Failure(f"no {pattern!r} in {self.text!r}")
            more = os.read(self.fd, 4096).decode(errors="replace")
            self.text += more
            self.all += more
        self.text = self.text[match.end():]
        return match

    def command(self, line):
        """Run a line to its end; returns its exit status."""
        self.send(line + "; echo rc=$?.\n")
        return int(self.expect(r"rc=(\d+)\.\r\n").group(1))

    def status(self):
        """At the next prompt: how the last line ended."""
        self.expect(r"\$ $")
        return self.command("(exit $?)")

    def close(self):
        self.send("exit\n")
        try:
            while os.read(self.fd, 4096):
                pass
        except OSError:
            pass
        os.close(self.fd)
        os.waitpid(self.pid, 0)
