"""terminal.py - records terminals: shells on pseudo terminals, and their screens.

The screen knows only the few control sequences that our shell and `holdfast` write.  It fails on anything
else, and if it would have to scroll, so that a picture never shows something wrong.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

COLOURS = {"": None, "0": None, "1": None, "31": "red", "32": "green", "34": "blue"}
PIECE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|([\r\n\b\a])|([^\x00-\x1f\x7f]+)")


class Screen:
    """Rows of cells; a cell is a character and its colour, or None."""

    def __init__(self, columns, rows):
        self.columns = columns
        self.rows = [[] for _ in range(rows)]
        self.x = self.y = 0
        self.colour = None

    def write(self, text):
        at = 0
        while at < len(text):
            piece = PIECE.match(text, at)
            if piece is None:
                raise ValueError(f"the screen does not know {text[at:at + 8]!r}")
            numbers, letter, control, plain = piece.groups()
            if plain:
                self.put(plain)
            elif control:
                self.move(control)
            else:
                self.obey(numbers, letter)
            at = piece.end()

    def put(self, text):
        row = self.rows[self.y]
        for character in text:
            if self.x == self.columns:
                raise ValueError(f"a line is longer than {self.columns} columns: {text!r}")
            row.extend([(" ", None)] * (self.x + 1 - len(row)))
            row[self.x] = (character, self.colour)
            self.x += 1

    def move(self, control):
        if control == "\r":
            self.x = 0
        elif control == "\b":
            self.x = max(self.x - 1, 0)
        elif control == "\n":
            self.y += 1
            if self.y == len(self.rows):
                raise ValueError(f"more than {len(self.rows)} lines:\n{self.text()}")

    def obey(self, numbers, letter):
        if letter == "m" and numbers in COLOURS:
            self.colour = COLOURS[numbers]
        elif letter == "K" and numbers in ("", "0"):
            del self.rows[self.y][self.x:]
        else:
            raise ValueError(f"the screen does not know CSI {numbers}{letter}")

    def text(self):
        return "\n".join("".join(cell[0] for cell in row) for row in self.rows)


class Recorder:
    """Some terminals, and their output over time."""

    LIMIT = 20.0  # seconds, for any step
    PACE = 0.045  # seconds from key to key

    def __init__(self, columns, rows, shell, env):
        self.begin = time.monotonic()
        self.events = []  # [seconds, "out 1", text], [seconds, "say", text]...
        self.screens = [Screen(columns, count) for count in rows]
        self.shells = [start(shell, env, columns, count) for count in rows]

    def note(self, kind, text=""):
        self.events.append([round(time.monotonic() - self.begin, 4), kind, text])

    def watch(self, seconds):
        """Record until there is output, at most for so many seconds; True: there was."""
        files = [fd for _, fd in self.shells]
        ready, _, _ = select.select(files, [], [], max(seconds, 0))
        for fd in ready:
            which = files.index(fd)
            text = os.read(fd, 65536).decode()
            self.note(f"out {which + 1}", text)
            self.screens[which].write(text)
        return bool(ready)

    def pause(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.watch(left)

    def until(self, which, wanted):
        end = time.monotonic() + self.LIMIT
        while re.search(wanted, self.screens[which - 1].text(), re.M) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"no {wanted!r} in:\n{self.screens[which - 1].text()}")
            self.watch(0.1)

    def type(self, which, text, mark=None):
        for key in text:
            self.pause(self.PACE)
            self.press(which, key)
        self.pause(0.35)
        if mark:
            self.note(mark)
        self.press(which, "\r")

    def press(self, which, key):
        os.write(self.shells[which - 1][1], key.encode())

    def close(self):
        for pid, fd in self.shells:
            os.close(fd)  # a shell gets SIGHUP
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def start(shell, env, columns, rows):
    """(pid, descriptor)"""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.execvpe(shell[0], shell, env)
    return pid, fd
