"""store - what the stores of `make chaos` have in common.

A store has a URL, addresses that a proxy can stand before (none: it has no server, or tells clients
where it is), and faults: {kind: function}.  A function does harm and returns (seconds, heal): how long
it lasts and what ends it; None if it is over at once; or False if nothing happened.  Functions are
called in the thread that started the servers, since these die with it.  heal() may return a number: how
many times the harm was done.
"""
import shutil

import clients


class Store:
    """Defaults."""
    scheme = "sqlite"  # of its URLs
    addresses, server = (), None
    ttl = 1.0  # seconds, the lease
    errors = ()  # of the client of its tests, beside OSError and RuntimeError
    unordered = {}  # {kind of fault: seconds after it, in which the order is not promised}
    forgets = {}  # {kind of fault: seconds after it, in which data may be lost, and breaks with them}

    def __init__(self, dice, folder):
        self.dice, self.folder = dice, folder
        self.clock = clients.make_clock(folder, "server.clock")

    def place(self, _worker):
        """Addresses for a worker, and words in front of its command that run it where it belongs."""
        return self.addresses, []

    def faults(self):
        return {}

    def clock_env(self):
        return self.clock.env if self.clock else {}

    def step(self, direction):
        """Set the clock of the server."""
        if self.clock is None:
            return False
        clients.step(self.clock, self.dice, direction)
        return None

    def stop(self):
        if self.server is not None:
            for number, server in enumerate(self.processes(), 1):
                shutil.copy(server.folder / "log", self.folder / f"server{number}.log")
            self.server.stop()

    def processes(self):
        """All servers, of the module server_process."""
        return getattr(self.server, "servers", [self.server])

    def left(self, empty):
        """What its data show that must not be; `empty`: nobody uses it any more.  Texts, read past Holdfast."""
        del empty
        return ()

    # ---- Parts of faults

    def outage(self):
        """Seconds: mostly short, sometimes longer than the lease."""
        return self.dice.choice([0.0, 0.1, 0.3, 0.7, 1.5 * self.ttl, 2.5 * self.ttl])

    def killed(self, server):
        server.kill()
        return self.outage(), server.start

    def frozen(self, server):
        server.freeze()
        return self.outage(), server.thaw
