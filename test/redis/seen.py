"""seen - what tests of the command share that stop, move or replace the Redis server of a lock."""
import functools
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import hf  # noqa: E402


def case(function):
    """What is left at the end is looked for where the case began: its server is gone then."""
    @functools.wraps(function)
    def wrapped(t):
        url = t.env["HOLDFAST_URL"]
        try:
            function(t)
        finally:
            t.env["HOLDFAST_URL"] = url
    return hf.case(wrapped)


def settle(t, url):
    """A hold-off may go on: the server is young."""
    t.env["HOLDFAST_URL"] = url
    t.equal(t.run("run", "-w", "30", "settle", "--", "true").code, 0, "it settles")


def holders(t, name):
    return [e["token"] for lock in t.list() if lock["name"] == name for e in lock["holders"]]
