"""What the tests share."""
import asyncio
import os
import subprocess
import sys
import tempfile
import threading

import pytest

_state = None
if "HF_TEST_MARK" not in os.environ:  # by hand: not in the user's own locks
    _state = tempfile.TemporaryDirectory(prefix="holdfast-python.")
    os.environ["XDG_STATE_HOME"] = _state.name
    os.environ.pop("HOLDFAST_URL", None)

import holdfast  # noqa: E402


@pytest.fixture(autouse=True)
def names_for_doctests(doctest_namespace, tmp_path_factory):
    doctest_namespace.update({name: getattr(holdfast, name) for name in holdfast.__all__})
    doctest_namespace["holdfast"] = holdfast
    doctest_namespace["asyncio"] = asyncio
    doctest_namespace["path"] = tmp_path_factory.getbasetemp() / "report.csv"


@pytest.fixture
def url(tmp_path):
    """The store that is tested."""
    return os.environ.get("HF_TEST_URL") or f"sqlite:{tmp_path}/locks.db"


@pytest.fixture
def name(request):
    """A lock of this test's own."""
    return request.node.name.replace("/", "-")


class Script:
    """Python code in another process.  It says a word by print(), and goes on when it is told a
    word, by input()."""

    def __init__(self, code, *args):
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", f"import holdfast, sys\n{code}", *map(str, args)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)

    @property
    def pid(self):
        return self.process.pid

    def hear(self):
        """A word; "" if none comes."""
        timer = threading.Timer(60, self.process.kill)
        timer.start()
        try:
            return self.process.stdout.readline().rstrip("\n")
        finally:
            timer.cancel()

    def tell(self, word=""):
        print(word, file=self.process.stdin, flush=True)

    def end(self, limit=20):
        """Its exit status."""
        self.process.stdin.close()
        status = self.process.wait(limit)
        self.process.stdout.close()
        return status


@pytest.fixture
def script():
    """Starts scripts, and ends those that are left."""
    started = []

    def start(code, *args):
        started.append(Script(code, *args))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        one.process.stdin.close()
        one.process.stdout.close()
