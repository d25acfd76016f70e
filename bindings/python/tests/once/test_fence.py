"""fence_file(): one process at a time, and no lower token afterwards."""
import os
import signal
import threading
import time

import pytest

import holdfast


def test_only_higher_tokens(tmp_path):
    path = tmp_path / "report"
    for token in (7, 7, 9, 2**64 - 1):
        with holdfast.fence_file(path, token):
            assert (tmp_path / "report.fence").read_text() == f"{token}\n"
    with pytest.raises(holdfast.LockLost, match="token 9 is stale.*18446744073709551615"):
        with holdfast.fence_file(os.fsencode(path), 9):
            pytest.fail("it was let through")
    for token in (0, -1, 2**64):
        with pytest.raises(holdfast.InvalidArgument):
            holdfast.fence_file(path, token).__enter__()
    with pytest.raises(holdfast.InvalidArgument):
        holdfast.fence_file("a\0b", 1).__enter__()
    with pytest.raises(holdfast.NotFound):
        holdfast.fence_file(tmp_path / "no/report", 1).__enter__()


def test_others_wait(tmp_path):
    path = tmp_path / "report"
    with holdfast.fence_file(path, 1):
        with pytest.raises(holdfast.LockBusy):
            holdfast.fence_file(path, 2, timeout=0).__enter__()
        begin = time.monotonic()
        with pytest.raises(holdfast.LockTimeout):
            holdfast.fence_file(path, 2, timeout=0.3).__enter__()
        assert 0.3 <= time.monotonic() - begin < 10
    with pytest.raises(ZeroDivisionError), holdfast.fence_file(path, 2):
        1 / 0
    with holdfast.fence_file(path, 2, timeout=0):
        pass


def test_a_signal_ends_the_wait(tmp_path):
    class Enough(Exception):
        pass

    def enough(*_):
        raise Enough

    path = tmp_path / "report"
    before = signal.signal(signal.SIGUSR1, enough)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        with holdfast.fence_file(path, 1):
            timer.start()
            with pytest.raises(Enough):
                holdfast.fence_file(path, 2).__enter__()
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    with holdfast.fence_file(path, 2, timeout=0):
        pass
