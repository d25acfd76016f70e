"""hands.py - processes that hold locks of several servers, and what they say of it.

    from hands import *

    @case
    def it_is_kept(t):
        hand = Hand(t, "hold", url(cluster, session=8), "a")
        hand.hears("held")

Times are seconds of CLOCK_BOOTTIME, the same for all processes of a machine, in a
namespace or not.  What a hand says is told in hand.c; cases are written as those of the
command, see test/cli/hf.py.
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


SAYS = {  # words of hand.c, and what follows them
    "held": (seconds, int), "left": (seconds, seconds, int), "lost": (seconds, seconds, str),
    "asked": (seconds,), "failed": (seconds, str, str), "released": (seconds, str), "session": (seconds, str),
}


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def url(servers, session):
    """Of a cluster, or of some of its servers; `session` in seconds."""
    servers = getattr(servers, "servers", servers)
    return f"zk://{','.join(server.address for server in servers)}?session={session}s"


class Hand:
    """One process; `inside`: what to put in front of it for it to run in a namespace."""

    def __init__(self, test, mode, where, name="a", limit=PATIENCE, file=None, inside=()):
        self.test = test
        self.out = test.path(f"{len(test.started)}.out")
        self.err = self.out.with_suffix(".err")
        argv = [*inside, BUILD / "test/zk/hand", mode, where, name, int(limit * 1000)]
        argv += [file] if file is not None else []
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen([str(arg) for arg in argv], env=test.env,
                                            stdin=subprocess.PIPE, stdout=out, stderr=err)
        test.started.append(self.process)

    def said(self, word):
        """What it said with this word: lists of what followed, see SAYS."""
        lines = [line.split(maxsplit=len(SAYS[word])) for line in self.out.read_text().split("\n")[:-1]]
        return [[read(part) for read, part in zip(SAYS[word], line[1:])]
                for line in lines if line[0] == word]

    def hears(self, word, count=1, limit=PATIENCE):
        """Wait until it has said the word; returns what followed it the last time."""
        def there():
            ended = self.process.poll() is not None  # asked first: it may speak, and then end
            found = self.said(word)
            if len(found) >= count:
                return found[count - 1]
            self.test.true(not ended,
                           f"a hand ended and never said {word}: {self.out.read_text()[-300:]}"
                           f"{self.err.read_text()[-300:]}")
            return None
        return self.test.until(f"a hand says {word}", there, limit)

    def belief(self):
        """(now, deadline, least time left in ms since it was last asked)"""
        count = len(self.said("left"))
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return self.hears("left", count + 1)

    def is_kept(self):
        return not self.said("lost") and self.process.poll() is None

    def let_go(self):
        """End it; returns what release said: "0" or an error's name."""
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self.test.equal(code, 0, f"exit code of a hand ({self.err.read_text()[-300:]})")
        released = self.said("released")
        return released[-1][1] if released else None

    def kill(self):
        self.process.kill()
        self.process.wait()


def turns_taken(hands):
    """Every turn of these, first granted first: (token, grant, end, release's code)."""
    turns = []
    for hand in hands:
        for line in hand.out.read_text().splitlines():
            word, *rest = line.split()
            if word == "turn":
                token, grant, end, deadline = map(int, rest[:4])
                turns.append((token, grant, min(end, deadline), rest[4]))
    return sorted(turns, key=lambda turn: turn[1])


def check_turns(test, hands, counter):
    """No two at a time, tokens rise, none was lost, and the count is right."""
    turns = turns_taken(hands)
    for before, after in zip(turns, turns[1:]):
        test.true(after[1] > before[2], f"two at a time: {before} {after}")
        test.true(after[0] > before[0], f"the token falls: {before} {after}")
    test.equal([turn for turn in turns if turn[3] != "0"], [], "turns lost")
    test.equal([line for hand in hands for line in hand.said("failed")], [], "failures")
    test.equal(int(counter.read_text()), len(turns), "the count")
    return len(turns)


def random_name():
    return f"{random.getrandbits(64):016x}"
