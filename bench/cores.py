"""cores - on which cores servers and clients run.

Near a server, it matters most which processes the kernel puts on one core.  Pinned, servers have the
first core, clients the second, and the relay between them the third or, if there is none, the servers'.
A child process inherits the core of its parent.
"""
import contextlib
import os


class Cores:
    def __init__(self, pin):
        self.all = os.sched_getaffinity(0)
        first, second, third = (sorted(self.all) * 3)[:3] if pin else (None,) * 3
        self.pinned = {"servers": first, "clients": second, "relay": third} if pin else {}

    @contextlib.contextmanager
    def of(self, role):
        """Run there, with all processes that are started meanwhile; "all": anywhere."""
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self.pinned[role]} if role in self.pinned else self.all)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)
