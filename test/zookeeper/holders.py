"""holders.py - processes that hold locks, for tests with several servers.

    from holders import *

    @case
    def the_lock_is_kept(t):
        holder = Holder(t, "hold", url(cluster, session=8), "a")
        holder.until_says("held")

Times are seconds of CLOCK_BOOTTIME, the same for all processes of a machine, in a
namespace or not.  holder.c describes what a holder prints; cases are written as those of
the command, see test/cli/hf.py.
"""
import random
import subprocess
import sys
import time

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import netns  # noqa: E402,F401
import zkwire  # noqa: E402,F401
import zookeeper  # noqa: E402,F401

PATIENCE = 60  # seconds that anything may take at most


def seconds(nanoseconds):
    return int(nanoseconds) / 1e9


SAYS = {  # words of holder.c, and what follows them
    "held": (seconds, int), "left": (seconds, seconds, int), "lost": (seconds, seconds, str),
    "asked": (seconds,), "failed": (seconds, str, str), "released": (seconds, str), "session": (seconds, str),
}


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def url(servers, session):
    """The URL of a cluster, or of some of its servers; `session` in seconds."""
    servers = getattr(servers, "servers", servers)
    return f"zk://{','.join(server.address for server in servers)}?session={session}s"


class Holder:
    """One process; `inside`: the command that runs it in a namespace."""

    def __init__(self, test, mode, where, name="a", limit=PATIENCE, file=None, inside=()):
        self.test = test
        self.out = test.path(f"{len(test.started)}.out")
        self.err = self.out.with_suffix(".err")
        argv = [*inside, BUILD / "test/zookeeper/holder", mode, where, name, int(limit * 1000)]
        argv += [file] if file is not None else []
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen([str(arg) for arg in argv], env=test.env,
                                            stdin=subprocess.PIPE, stdout=out, stderr=err)
        test.started.append(self.process)

    def said(self, word):
        """What it printed with this word: a list for each time, see SAYS."""
        lines = [line.split(maxsplit=len(SAYS[word])) for line in self.out.read_text().split("\n")[:-1]]
        return [[read(part) for read, part in zip(SAYS[word], line[1:])]
                for line in lines if line[0] == word]

    def until_says(self, word, count=1, limit=PATIENCE):
        """Wait until it has printed the word `count` times; returns what followed it then."""
        def there():
            ended = self.process.poll() is not None  # first: it may print the word and then end
            found = self.said(word)
            if len(found) >= count:
                return found[count - 1]
            self.test.true(not ended,
                           f"a holder ended and never said {word}: {self.out.read_text()[-300:]}"
                           f"{self.err.read_text()[-300:]}")
            return None
        return self.test.until(f"a holder says {word}", there, limit)

    def belief(self):
        """(now, deadline, the least time left in ms since the last call)"""
        count = len(self.said("left"))
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return self.until_says("left", count + 1)

    def is_kept(self):
        return not self.said("lost") and self.process.poll() is None

    def release(self):
        """End it; returns the result of its release: "0" or an error's name."""
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self.test.equal(code, 0, f"exit code of a holder ({self.err.read_text()[-300:]})")
        released = self.said("released")
        return released[-1][1] if released else None

    def kill(self):
        self.process.kill()
        self.process.wait()


def turns_taken(holders):
    """Every turn of these, first granted first: (token, grant, end, result of release)."""
    turns = []
    for holder in holders:
        for line in holder.out.read_text().splitlines():
            word, *rest = line.split()
            if word == "turn":
                token, grant, end, deadline = map(int, rest[:4])
                turns.append((token, grant, min(end, deadline), rest[4]))
    return sorted(turns, key=lambda turn: turn[1])


def check_turns(test, holders, counter):
    """No two at a time, tokens rise, none was lost, and the count is right."""
    turns = turns_taken(holders)
    for before, after in zip(turns, turns[1:]):
        test.true(after[1] > before[2], f"two at a time: {before} {after}")
        test.true(after[0] > before[0], f"the token falls: {before} {after}")
    test.equal([turn for turn in turns if turn[3] != "0"], [], "turns lost")
    test.equal([line for holder in holders for line in holder.said("failed")], [], "failures")
    test.equal(int(counter.read_text()), len(turns), "the count")
    return len(turns)


def random_name():
    return f"{random.getrandbits(64):016x}"
