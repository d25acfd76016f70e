"""memory_group - a control group with a memory limit, of version 1 or 2."""
import contextlib
import itertools
import os
import pathlib
import subprocess
import sys

import server_process

LIMIT = 64 << 20  # bytes: more than holdfast, its guardian and a few shells need
# Where the controller is, what sets the limit, and where kills are counted.
VERSIONS = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"),
            ("/sys/fs/cgroup", "memory.max", "memory.events")]

# Takes memory that belongs to no process, so the kernel does not take the eater for the largest one.
EATER = """
import os
food = os.memfd_create("food")
while True: os.write(food, bytes(2**20))
"""

numbers = itertools.count(1)


class MemoryGroup:
    """Use it in a `with`.  server_process.Missing: it is not possible here, and why."""

    def __init__(self):
        for top, limit, self.events in VERSIONS:
            self.folder = pathlib.Path(top) / f"holdfast-test-{os.getpid()}-{next(numbers)}"
            try:
                self.folder.mkdir()
                (self.folder / limit).write_text(str(LIMIT))
                return
            except OSError as error:
                why = error
                with contextlib.suppress(OSError):
                    self.folder.rmdir()
        raise server_process.Missing(f"no memory controller that may be written: {why}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        def removed():
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            return not self.folder.exists()
        server_process.until("the control group is empty", removed, 10)

    def inside(self, argv):
        """The same command in this group."""
        return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self.folder), *argv]

    def starve(self, pid):
        """Use up the memory of the group, with this process in it, until the kernel has killed both this
        process and the one that uses it up.  False: this process is gone already."""
        try:
            (self.folder / "cgroup.procs").write_text(str(pid))
            make_victim(pid)
        except (ProcessLookupError, FileNotFoundError):
            return False
        eater = subprocess.Popen(self.inside([sys.executable, "-S", "-c", EATER]))
        try:
            eater.wait(10)
        finally:
            eater.kill()
            eater.wait()
        for child in (self.folder / "cgroup.procs").read_text().split():  # started since
            with contextlib.suppress(ProcessLookupError):
                (self.folder.parent / "cgroup.procs").write_text(child)
        return self.kills() >= 2

    def kills(self):
        for line in (self.folder / self.events).read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        raise ValueError("the kernel does not count its kills")


def make_victim(pid):
    """Make the kernel kill this process first."""
    pathlib.Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
