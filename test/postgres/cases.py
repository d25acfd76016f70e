"""cases - what tests of the PostgreSQL store's functions share.

    from cases import *

    @case
    def a_name_that_tells(): ...

    main()
"""
import functools

from lines import Actor, Session, Space  # noqa: F401  which says where the others are

import postgres  # test/server/postgres.py
import tap
from tap import case, options  # noqa: F401


def server():
    return tap.servers[0]


def space(**more):
    return Space(server(), **more)


def sessions(there, count=2):
    return [there.session() for _ in range(count)]


def main(add_options=None, instead=None, start=postgres.standalone, **more):
    """`more`: for the server."""
    tap.main(functools.partial(start, **more), postgres.Missing, add_options, instead)
