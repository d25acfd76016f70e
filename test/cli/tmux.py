"""tmux.py - a terminal whose screen can be read, for tests of what is drawn on one."""
import re
import unicodedata
from hf import *

COLOR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|4[0-7]|9[0-7]|38|48)[;m]")


def width(text):
    """Columns of a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


class Tmux:
    """A shell in a tmux server of its own, with bash's prompt "$ "."""

    def __init__(self, t, columns=80, lines=24, **env):
        if not shutil.which("tmux"):
            raise Skip("there is no tmux")
        self.t = t
        self.env = dict(t.env, HISTFILE="", TERM="xterm-256color", **env)
        self.env.pop("TMUX", None)
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(lines),
                  "exec env PS1='$ ' bash --norc --noprofile -i")
        self.pid = int(self.tmux("display", "-p", "#{pane_pid}"))
        self.until(lambda text: "$" in text)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-u", "-S", self.t.path("tmux"), "-f", "/dev/null", *words],
                              env=self.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
        if done.returncode != 0:
            raise Failure(f"tmux {words}: {done.stderr.decode()}")
        return done.stdout.decode()

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def rows(self):
        return self.screen().rstrip("\n").split("\n")

    def row(self, word):
        """The row that has this word."""
        return next((row for row in self.rows() if word in row), "")

    def keys(self, *names):
        """By their names: Enter, Escape, Down..."""
        self.tmux("send-keys", *names)

    def type(self, text):
        self.tmux("send-keys", "-l", "--", text)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def state(self, name):
        return self.tmux("display", "-p", f"#{{{name}}}").strip()

    def until(self, condition, limit=LIMIT):
        """Until the screen is so; returns it."""
        last = ""

        def looks():
            nonlocal last
            last = self.screen()
            return condition(last)
        try:
            self.t.until("the screen is right", looks, limit)
        except Failure as failure:
            raise Failure(f"{failure}:\n{last}") from None
        return last

    def shows(self, *words):
        return self.until(lambda text: all(word in text for word in words))

    def lacks(self, word):
        return self.until(lambda text: word not in text)

    def started(self):
        """The process that the shell started last."""
        self.t.until("it is started", lambda: children_of(self.pid))
        return children_of(self.pid)[0]

    def close(self):
        self.tmux("kill-server")
