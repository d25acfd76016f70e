"""memory_group - a control group with a memory limit, of version 1 or 2."""
import contextlib
import itertools
import os
import pathlib

import server_process

LIMIT = 64 << 20  # bytes: more than holdfast, its guardian and a few shells need
# Where the controller is, what sets the limit, and where kills are counted.
VERSIONS = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"),
            ("/sys/fs/cgroup", "memory.max", "memory.events")]

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

    def kills(self):
        for line in (self.folder / self.events).read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        raise ValueError("the kernel does not count its kills")


def make_victim(pid):
    """Make the kernel kill this process first."""
    pathlib.Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
