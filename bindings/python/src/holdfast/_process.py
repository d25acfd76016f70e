"""`generation`: a number that changes in a forked child.

Reading it costs nothing, unlike os.getpid(), which is a system call.
"""
from __future__ import annotations

import os

generation = 0


def _after_fork() -> None:
    global generation
    generation += 1


os.register_at_fork(after_in_child=_after_fork)
