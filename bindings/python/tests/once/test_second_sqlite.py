"""Another SQLite in this process, as that of a wheel or of a Python that brings its own, opens the lock
file and closes it: the locks stay."""
import ctypes
import glob
import os
import shutil
import subprocess

import pytest

import holdfast


def test_lock_outlives_the_close_of_another_sqlite(tmp_path):
    found = glob.glob("/usr/lib/*/libsqlite3.so.0")
    if not found:
        pytest.skip("no libsqlite3.so.0 here")
    copy = shutil.copy(os.path.realpath(found[0]), tmp_path / "another.so")
    other = ctypes.CDLL(str(copy), mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)
    url = f"sqlite:{tmp_path}/locks.db"
    with holdfast.Client(url) as client, holdfast.Lock("a", client=client):
        log = os.stat(tmp_path / "locks.db-wal").st_ino
        for _ in range(2):
            handle = ctypes.c_void_p()
            assert other.sqlite3_open(str(tmp_path / "locks.db").encode(), ctypes.byref(handle)) == 0
            assert other.sqlite3_exec(handle, b"SELECT * FROM place", None, None, None) == 0
            assert other.sqlite3_close(handle) == 0
        assert os.stat(tmp_path / "locks.db-wal").st_ino == log, "the log was deleted"
        done = subprocess.run([os.environ["HOLDFAST"], "try", "--url", url, "a", "true"], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 75, done.stderr
