"""The package and a program that uses it are well typed."""
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import holdfast

def work(name: str) -> int:
    with holdfast.Lock(name, timeout=10) as lock:
        reveal_type(lock)
        return lock.token

@holdfast.Lock("report")
def report(day: str) -> int:
    return len(day)

reveal_type(report)


def warn(lock: holdfast.Lock) -> None:
    print(lock.name)


holdfast.Lock("report", on_lost=warn, on_asked=warn)
holdfast.Semaphore("report", 2, on_lost=lambda slots: print(slots.slot))
"""


def mypy(*arguments, tmp_path):
    if shutil.which("mypy") is None:
        pytest.skip("no mypy here")
    return subprocess.run(["mypy", "--cache-dir", tmp_path / "cache", *arguments], cwd=HERE,
                          capture_output=True, text=True)


def test_mypy(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = mypy("src/holdfast", program, tmp_path=tmp_path)
    assert done.returncode == 0, done.stdout
    assert '"holdfast._locks.Lock"' in done.stdout
    assert "def (day: builtins.str) -> builtins.int" in done.stdout
