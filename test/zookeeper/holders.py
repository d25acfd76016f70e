"""holders.py - processes that hold locks, for tests with several servers.

    from holders import *

    @case
    def the_lock_is_kept(t):
        holder = Holder(t, "hold", url(cluster, session=8), "a")
        holder.until_says("held")

Times are seconds of CLOCK_BOOTTIME, the same for all processes of a machine, in a
namespace or not.  holder.c describes what a holder prints; cases are written as those of
the command, see test/cli/hf.py.  Holders also write histories; judge(t) has them checked at the end of a case.
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

    def __init__(self, test, mode, where, name="a", limit=PATIENCE, inside=()):
        self.test = test
        self.out = test.path(f"{len(test.started)}.out")
        self.err = self.out.with_suffix(".err")
        argv = [*inside, BUILD / "test/zookeeper/holder", mode, where, name, int(limit * 1000)]
        test.env["HF_HISTORIES"] = str(histories(test))
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


def histories(test):
    folder = test.path("histories")
    folder.mkdir(exist_ok=True)
    return folder


def judge(test):
    """When all its holders have ended."""
    test.judge(histories(test))


def random_name():
    return f"{random.getrandbits(64):016x}"
