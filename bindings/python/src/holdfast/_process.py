"""Which process this is: a number that is another one in a forked child.

It costs nothing to look at, unlike os.getpid(), which asks the kernel.
"""
from __future__ import annotations

import os

generation = 0


def _after_fork() -> None:
    global generation
    generation += 1


os.register_at_fork(after_in_child=_after_fork)
