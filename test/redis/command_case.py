"""command_case - shared by tests of the command that stop, move or replace a Redis server."""
import functools
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import hf  # noqa: E402


def case(function):
    """Check for leftovers at the URL where the case began: its server may be gone."""
    @functools.wraps(function)
    def wrapped(t):
        url = t.env["HOLDFAST_URL"]
        try:
            function(t)
        finally:
            t.env["HOLDFAST_URL"] = url
    return hf.case(wrapped)


def settle(t, url):
    """Wait for the end of the grace period: the server is young."""
    t.env["HOLDFAST_URL"] = url
    t.equal(t.run("run", "-w", "30", "settle", "--", "true").code, 0, "it settles")


def holders(t, name):
    return [e["token"] for lock in t.list() if lock["name"] == name for e in lock["holders"]]
