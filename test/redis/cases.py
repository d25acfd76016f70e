"""cases - shared by the tests of the Redis scripts.

    from cases import *

    @case
    def a_name_that_tells(): ...

    main()
"""
from lines import LAYOUT, MANY, SOON, TTL, Session, Space, claim_value  # noqa: F401  sets sys.path

import redis  # test/server/redis.py
import tap
from tap import case, options  # noqa: F401


def server_path():
    return tap.servers[0].path


def space(**more):
    return Space(server_path(), **more)


def sessions(there, count=2):
    return [there.session() for _ in range(count)]


def main(add_options=None, instead=None):
    tap.main(redis.standalone, redis.Missing, add_options, instead)
