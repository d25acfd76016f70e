"""cores - where servers and clients run.

Near a server the kernel's choice, which of them share a core, weighs more than what they do.  Pinned,
servers have the first core, clients the second, and the relay between them the third or, if
there is none, the servers'.  Whatever is started inherits the place of who starts it.
"""
import contextlib
import os


class Cores:
    def __init__(self, pin):
        self.all = os.sched_getaffinity(0)
        first, second, third = (sorted(self.all) * 3)[:3] if pin else (None,) * 3
        self.pinned = {"servers": first, "clients": second, "relay": third} if pin else {}

    @contextlib.contextmanager
    def of(self, who):
        """What is started meanwhile, and we ourselves, run there; "all": anywhere."""
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self.pinned[who]} if who in self.pinned else self.all)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)
