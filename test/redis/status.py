#!/usr/bin/env -S python3 -B
"""status - --status-fd for a lock with a deadline: renewed, lost in time, released without an answer;
and a stalled reader does not stop renewals."""
import datetime
import subprocess
import sys
import time

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import redis  # noqa: E402
from statusfd import Lines, reader  # noqa: E402

TTL = 2.0


def url():
    return f"redis://{server.address}?ttl={TTL}s"


def holders(t):
    """Their tokens, without the stand-in with token 0 that a young server shows in its grace period."""
    shown = json.loads(t.run("show", "--json", "a", "--url", url()).out)["holders"]
    return [holder["token"] for holder in shown if holder["token"] != "0"]


def held(lines):
    """The event "held".  Events "place" may come before it."""
    lines.next("waiting")
    while (line := lines.line())["event"] == "place":
        pass
    lines.t.equal(line["event"], "held")
    return line


def deadline(t, line):
    """Seconds since 1970; must agree with left_ms."""
    time_of = {key: datetime.datetime.fromisoformat(line[key].replace("Z", "+00:00")).timestamp()
               for key in ("time", "deadline")}
    t.true(0 < line["left_ms"] <= TTL * 1000, line)
    t.true(abs(time_of["deadline"] - time_of["time"] - line["left_ms"] / 1000) < 0.5, line)
    return time_of["deadline"]


@case
def each_renewal_moves_the_deadline(t):
    for verb, command in (("hold", []), ("run", ["--", "cat"])):
        with reader(t, verb, "-q", "a", "--url", url(), *command) as (process, lines):
            known = deadline(t, held(lines))
            for _ in range(2):
                later = deadline(t, lines.next("renewed"))
                t.true(later > known + 0.09, f"{later} after {known}")
                known = later
            process.stdin.close()
            process.stdin = None
            while (last := lines.line())["event"] == "renewed":
                pass
            t.equal((last["event"], last["error"], lines.all()), ("released", None, []))
            t.equal(t.finish(process).code, 0)


@case
def a_stalled_reader_does_not_stop_renewals(t):
    options = ["-q", "a", "--slots", "2", "--url", url()]
    with reader(t, "hold", *options, full=True) as one, \
            reader(t, "run", *options, "--", "cat", full=True) as other:
        first = t.until("both are held", lambda: holders(t) if len(holders(t)) == 2 else None)
        end = time.monotonic() + 2 * TTL
        t.until("two leases are over", lambda: time.monotonic() > end)
        t.equal(holders(t), first)
        for process, lines in (one, other):
            process.stdin.close()
            process.stdin = None
            lines.drain()
            events = [event for event in lines.all() if event != "place"]
            t.equal(events, ["waiting", "held", "renewed", "released"])
            t.equal(t.finish(process).code, 0)


@case
def without_the_server_the_lock_is_lost_at_the_deadline(t):
    with reader(t, "hold", "-q", "a", "--url", url()) as (process, lines):
        known = deadline(t, held(lines))
        server.freeze()
        try:
            while (line := lines.line())["event"] == "renewed":
                known = deadline(t, line)
            t.equal((line["event"], line["why"]), ("lost", "expired"))
            t.true(time.time() >= known - 0.1, "before the deadline")
        finally:
            server.thaw()
        t.equal((lines.all(), t.finish(process).code), ([], 79))


@case
def a_release_without_an_answer(t):
    with reader(t, "hold", "-q", "a", "--url", url()) as (process, lines):
        held(lines)
        server.freeze()
        try:
            process.stdin.close()
            process.stdin = None
            while (line := lines.line())["event"] == "renewed":
                pass
            t.true(line["event"] == "lost" or line["error"] in ("HF_EDOWN", "HF_ETIMEOUT"), line)
        finally:
            server.thaw()
        t.true(t.finish(process).code != 0, "it says that all was well")
        t.equal(lines.all(), [])


@case
def end_of_file_means_holdfast_has_ended(t):
    """No other process keeps it open, not even the one that ends the session."""
    process = t.start("hold", "-q", "--status-fd", "1", "a", "--url", url(), stdin=subprocess.PIPE)
    lines = Lines(t, process.stdout.fileno())
    held(lines)
    process.kill()
    while (line := lines.line()) is not None:
        t.equal(line["event"], "renewed")


if __name__ == "__main__":
    with store("redis"), redis.standalone() as server:
        hf.main()
