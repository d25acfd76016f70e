#!/usr/bin/env -S python3 -B
"""serve-memory - how much memory `holdfast serve` takes."""
# release build: it measures
import re

from hf import *
from servehelper import helper


def memory_kb(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))


@case
def lists_that_nobody_reads_take_little_memory(t):
    """Each would take half a megabyte."""
    with helper(t) as h, helper(t) as other:
        for _ in range(600):
            other.send("acquire", name="a", note="n" * 900)
        t.waiting("a", 599)
        asked = [h.send("list") for _ in range(100)]
        h.send("acquire", name="b")
        t.until("all were read", lambda: t.show("b")["holders"])
        begin = time.monotonic()
        t.until("two seconds are over", lambda: time.monotonic() > begin + 2)
        t.true(memory_kb(h.process.pid) < 40_000, f"{memory_kb(h.process.pid)} KB")
        while asked:
            line = h.line()
            if line["event"] == "done":
                asked.remove(line["id"])
                t.true(line["count"] >= 600, "entries")


main()
