#!/usr/bin/env -S python3 -B
"""serve - `holdfast serve --stdio`: the protocol of docs/serve.md, bad input, slow readers, the end."""
import contextlib
import ctypes
import fcntl
import pathlib
import re

from hf import *
from servehelper import helper

PAGE = pathlib.Path(__file__).parents[2] / "docs/serve.md"
VOLATILE = {"time", "token", "pid", "url", "version"}
LEASE_S = 1.5


def transcript():
    block = re.search(r"^## Transcript$.*?^```text\n(.*?)^```$", PAGE.read_text(),
                      re.MULTILINE | re.DOTALL).group(1)
    return [(line[0], line[2:]) for line in block.splitlines()]


@case
def the_transcript_of_the_page(t):
    lines = transcript()
    t.true(len(lines) > 20, "lines")
    with helper(t) as h:
        t.equal(set(h.hello["limits"]), {"line", "locks", "questions"}, "limits")
        h.kept.append(h.hello)
        for at, (side, text) in enumerate(lines):
            want = json.loads(text)
            if side == ">":
                h.write(text + "\n")
                continue
            about = {key: want[key] for key in ("id", "lock") if key in want}
            got = h.next(want["event"], **about)
            t.equal(list(got), list(want), f"members of line {at}")
            for key in want.keys() - VOLATILE:
                t.equal(got[key], want[key], f"{key} of line {at}")
        t.equal(sum(len(lock["holders"]) for lock in t.list()), 3, "holders")
        t.equal(h.end(), [], "other lines")


BAD = [  # a line, and what the answer must name
    ("hello", "not a JSON object"), ("[1]", "not a JSON object"), ("{", "must be a string"),
    ('{"id":1}', '"op" is missing'), ('{"op":"list"}', '"id" is missing'), ('{"id":0,"op":"list"}', '"id"'),
    ('{"id":1.5,"op":"list"}', '"id" must be a whole number'), ('{"id":-1,"op":"list"}', '"id"'),
    ('{"id":9007199254740992,"op":"list"}', '"id"'), ('{"id":"1","op":"list"}', '"id"'),
    ('{"id":1,"op":"steal"}', '"steal"'), ('{"id":1,"op":"acquire"}', '"name"'),
    ('{"id":1,"op":"acquire","name":7}', '"name" must be a string'),
    ('{"id":1,"op":"acquire","name":"a","name":"b"}', '"name" is there twice'),
    ('{"id":1,"op":"acquire","name":"a","timout_ms":1}', '"timout_ms"'),
    ('{"id":1,"op":"acquire","name":"a","timeout_ms":-1}', '"timeout_ms"'),
    ('{"id":1,"op":"acquire","name":"a","kind":"latch"}', '"latch"'),
    ('{"id":1,"op":"acquire","name":"a","slots":2}', '"slots"'),
    ('{"id":1,"op":"acquire","name":"a","kind":"semaphore"}', '"slots"'),
    ('{"id":1,"op":"acquire","name":"a","weight":2}', '"weight"'),
    ('{"id":1,"op":"acquire","name":"a","kind":"semaphore","slots":2,"weight":3}', '"weight"'),
    ('{"id":1,"op":"acquire","name":"a","kind":"semaphore","slots":4294967296}', '"slots"'),
    ('{"id":1,"op":"acquire","name":"a","max_waiters":4294967296}', '"max_waiters"'),
    ('{"id":1,"op":"acquire","name":"a","place":"yes"}', '"place" must be true or false'),
    ('{"id":1,"op":"acquire","name":"a/b"}', "'/'"), ('{"id":1,"op":"acquire","name":""}', "name"),
    ('{"id":1,"op":"acquire","name":"a","reason":"b"}', 'acquire has no member "reason"'),
    ('{"id":1,"op":"release"}', '"lock"'), ('{"id":1,"op":"release","lock":99}', "there is no lock 99"),
    ('{"id":1,"op":"check","lock":99}', "no such lock"), ('{"id":1,"op":"check","lock":0}', '"lock" must be'), ('{"id":1,"op":"check"}', '"lock"'),
    ('{"id":1,"op":"check","name":"a"}', '"token"'), ('{"id":1,"op":"check","lock":77,"token":"1"}', '"lock"'),
    ('{"id":1,"op":"break","name":"a","token":"x"}', '"token"'),
    ('{"id":1,"op":"break","name":"a","token":"18446744073709551616"}', '"token"'),
    ('{"id":77,"op":"acquire","name":"b"}', '"id" is that of another lock'),
    ('{"id":1,"op":"list"} {"id":2,"op":"list"}', "follows"), ('{"id":1,"op":"list",}', "string"),
    ('{"id":1,"op":"list" "name":"a"}', "comma"), ('{"id":1 "op":"list"}', "comma"),
    ('{"id":1,"op":"acquire","name":"\\ud800"}', "escape"), ('{"id":1,"op":"acquire","name":"\\u0000"}', "escape"),
    ('{"id":1,"op":"acquire","name":"a', "closing quote"), ('{"id":1,"op":{}}', '"op"'),
    ('{"id":1,"op":"acquire","name":"a","note":"' + "x" * 2000 + '"}', '"note" is longer than'),
]


@case
def bad_input_is_named_and_loses_nothing(t):
    with helper(t) as h:
        h.write('{"id":77,"op":"acquire","name":"kept"}\n')
        token = h.next("held")["token"]
        for line, part in BAD:
            h.write(line + "\n")
            answer = h.next()
            t.equal(answer["event"], "failed", f"answer to {line[:80]}")
            t.contains(answer["text"], part)
        h.write(b'{"id":1,"op":"acquire","name":"\xff"}\n')
        t.contains(h.next("failed")["text"], "UTF-8")
        h.write(b"\n  \r\n")  # people press Enter
        h.write('{"id":2,"op":"check","lock":77}\n')
        t.equal(h.next()["event"], "done", "the next answer")
        t.equal(t.show("kept")["holders"][0]["token"], token, "token")


@case
def a_line_that_is_too_long_is_skipped(t):
    with helper(t) as h:
        lock = h.hold("kept")
        for length in (h.hello["limits"]["line"] + 1, 300_000):
            h.write("x" * length + "\n")
            answer = h.next("failed")
            t.equal(answer["id"], None, "id")
            t.contains(answer["text"], "longer than 16384 bytes")
        for text in ('{"id":400,"op":"acquire","name":"' + "x" * 20_000, '{"id":400,"op":"list"}' + " " * 20_000):
            h.write(text + "\n")
            answer = h.next("failed", id=400)  # or the caller would wait for it for ever
            t.contains(answer["text"], "longer than 16384 bytes")
        longest = '{"id":500,"op":"check","lock":%d}' % lock
        h.write(longest + " " * (h.hello["limits"]["line"] - len(longest)) + "\n")
        t.equal(h.next(id=500)["event"], "done", "one that just fits")


@case
def requests_in_pieces_and_many_at_once(t):
    with helper(t) as h:
        for byte in '{"id":1000,"op":"acquire","name":"a"}\n':
            h.write(byte)
        h.next("held", id=1000)
        h.write("".join(f'{{"id":{n},"op":"acquire","name":"b{n}"}}\n' for n in range(1, 201)))
        t.equal(sorted(h.next("held")["lock"] for _ in range(200)), list(range(1, 201)), "locks")
        h.write("".join(f'{{"id":{n + 1000},"op":"release","lock":{n}}}\n' for n in range(1, 201)))
        t.equal(sorted(h.next("released")["lock"] for _ in range(200)), list(range(1, 201)), "locks")


@case
def all_kinds(t):
    with helper(t) as h:
        readers = [h.hold("rw", kind="reader") for _ in range(2)]
        t.equal(h.call("acquire", name="rw", kind="writer", timeout_ms=0)["error"], "HF_EBUSY")
        for lock in readers:
            h.call("release", lock=lock)
        writer = h.hold("rw", kind="writer")
        t.equal(h.call("downgrade", lock=writer)["event"], "done")
        h.hold("rw", kind="reader", timeout_ms=0)
        t.equal([h.call("acquire", name="s", kind="semaphore", slots=2)["slot"] for _ in range(2)], [0, 1], "slots")
        t.equal(h.call("acquire", name="s", kind="semaphore", slots=2, timeout_ms=1)["error"], "HF_ETIMEOUT")
        t.equal(h.call("acquire", name="s", kind="mutex", timeout_ms=60000)["error"], "HF_EMISMATCH")
        h.hold("c", kind="claim")
        waiting = h.send("acquire", name="c", kind="claim")
        t.equal(h.call("acquire", name="rw", kind="writer", max_waiters=1, timeout_ms=1)["error"], "HF_ETIMEOUT")
        t.equal(h.call("downgrade", lock=waiting)["error"], "HF_ESTATE")


@case
def one_queue_with_other_processes(t):
    """First come first served, also between the helper and `hold`."""
    with helper(t) as h:
        first = h.hold("a")
        other = t.start("hold", "a", stdin=subprocess.PIPE)
        t.waiting("a", 1)
        third = h.send("acquire", name="a")
        t.waiting("a", 2)
        h.call("release", lock=first)
        t.until("hold has it", lambda: t.show("a")["holders"][0]["pid"] == other.pid)
        h.send("list", name="a")
        t.equal([h.next("entry")["held"] for _ in range(2)], [True, False], "entries")
        other.stdin.close()
        h.next("held", lock=third)
        t.equal(other.wait(LIMIT), 0)


@case
def others_see_the_program(t):
    with helper(t, "--note", "of all") as h:
        h.hold("a", note="of this one")
        h.hold("b")
        t.contains(t.show("a")["holders"][0]["command"], "serve.py")
        t.equal([t.show(name)["holders"][0]["note"] for name in "ab"], ["of this one", "of all"], "notes")


@case
def statistics_count_all_locks(t):
    """Released and lost ones, too, and the buckets add up."""
    with helper(t) as h:
        lock = h.hold("a")
        t.equal(h.call("acquire", name="a", timeout_ms=0)["error"], "HF_EBUSY")
        h.call("release", lock=lock)
        h.hold("b")
        t.equal(t.run("break", "--yes", "b").code, 0, "break")
        h.next("lost", name="b")
        counts = h.call("stats")
        t.equal({name: counts[name] for name in ("acquired", "released", "busy", "lost", "broken", "timeouts")},
                {"acquired": 2, "released": 1, "busy": 1, "lost": 1, "broken": 1, "timeouts": 0}, "counts")
        for name in ("wait", "hold"):
            t.equal(sum(counts[name]["buckets"]), counts[name]["count"], name)
            t.equal(counts[name]["count"], 2, name)
        t.equal(counts["least_left_ms"], None, "a file has no lease")


@case
def a_broken_lock_is_lost(t):
    with helper(t) as h:
        lock = h.hold("a")
        token = t.show("a")["holders"][0]["token"]
        t.equal(h.call("break", name="a", token=token)["event"], "done")
        t.equal(h.next("lost")["why"], "gone")
        t.equal(h.call("check", lock=lock)["error"], "HF_ELOST")
        t.equal(h.call("release", lock=lock)["error"], "HF_ELOST")
        t.equal(h.call("release", lock=lock)["error"], "HF_ENOTFOUND")


@case
def a_thousand_waiters_in_one_helper(t):
    """Each is granted once, in the order in which they came."""
    count = 1000
    with helper(t) as h:
        first = h.hold("a")
        waiting = [h.send("acquire", name="a") for _ in range(count)]
        t.waiting("a", count)
        granted = []
        h.send("release", lock=first)
        while len(granted) < count:
            granted.append(h.next("held")["lock"])
            h.send("release", lock=granted[-1])
        t.equal(granted, waiting, "order")
        for _ in range(count + 1):
            t.equal(h.next("released")["error"], None, "release")


@case
def questions_and_releases_cross(t):
    """A lock whose handle another thread uses is not freed under it."""
    with helper(t) as h:
        for _ in range(100):
            lock = h.hold("a")
            asked = [h.send("check", lock=lock) for _ in range(8)]
            h.send("release", lock=lock)
            for number in asked:
                t.true(h.next(id=number)["event"] in ("done", "failed"), "an answer")
            t.equal(h.next("released")["error"], None, "release")


@case
def an_id_may_be_used_again_after_the_release(t):
    """Also while other threads still ask about the old lock."""
    with helper(t) as h:
        h.ids = 1
        for _ in range(100):
            h.write('{"id":1,"op":"acquire","name":"a"}\n')
            t.equal(h.next(id=1)["event"], "held", "the same id again")
            asked = range(h.ids + 1, h.ids + 301)
            h.ids += 301
            h.write("".join(f'{{"id":{n},"op":"check","lock":1}}\n' for n in asked) +
                    f'{{"id":{h.ids},"op":"release","lock":1}}\n')
            t.equal(h.next("released", id=h.ids)["error"], None)
            h.write('{"id":1,"op":"acquire","name":"b"}\n')
            t.equal(h.next(id=1)["event"], "held", "the same id again")
            for number in asked:
                t.true(h.next(id=number)["event"] in ("done", "failed"), "an answer")
            t.equal(h.call("release", lock=1)["error"], None)
            t.equal(h.call("release", lock=1)["error"], "HF_ENOTFOUND")


@case
def giving_up_crosses_the_grant(t):
    """Waiting or granted: after `released` the lock is free."""
    with helper(t) as h:
        for _ in range(100):
            lock = h.send("acquire", name="a")
            h.send("release", lock=lock)
            t.true(h.next(id=lock)["event"] in ("held", "failed"), "an answer")
            t.equal(h.next("released")["error"], None, "release")
        t.equal(t.show("a")["holders"], [], "holders")


@case
def no_more_locks_than_it_can_have(t):
    with helper(t) as h:
        lock, most = h.hold("a"), h.hello["limits"]["locks"]
        for _ in range(most - 1):
            h.send("acquire", name="a")
        t.equal(h.call("acquire", name="b")["error"], "HF_EFULL", "one too many")
        h.call("release", lock=lock)
        h.hold("b")


# ---- Slow readers ----------------------------------------------------------------------


@contextlib.contextmanager
def leases(t):
    """A server, whose leases are short."""
    url = t.env["HOLDFAST_URL"]
    with a_redis(t) as server:
        t.env["HOLDFAST_URL"] = f"redis://{server.address}?ttl={LEASE_S}s"
        try:
            yield server
        finally:
            t.env["HOLDFAST_URL"] = url


@case
def a_slow_reader_delays_no_renewal(t):
    """The helper cannot write for three leases, has more to say than it queues, and keeps the lock;
    every answer comes when the program reads again."""
    with leases(t):
        with helper(t) as h:
            lock = h.hold("a")
            token = t.show("a")["holders"][0]["token"]
            sent = h.fill(lambda n: json.dumps({"id": 10**6 + n, "op": "acquire", "name": "x" * 1000}) + "\n")
            begin = time.monotonic()
            t.until("three leases are over", lambda: time.monotonic() > begin + 3 * LEASE_S)
            t.equal(t.show("a")["holders"][0]["token"], token, "token")
            lines = [h.next("failed", id=10**6 + n) for n in range(sent)]
            t.equal({line["error"] for line in lines}, {"HF_EINVAL"}, "errors")
            renewed = [line for line in h.kept if line["event"] == "renewed"]
            t.true(len(renewed) <= 4, f"{len(renewed)} lines about renewals were kept")
            t.equal(h.call("check", lock=lock)["event"], "done")


@case
def a_large_list_is_written_as_fast_as_it_is_read(t):
    with helper(t) as h, helper(t) as other:
        waiting = [other.send("acquire", name="a", note="n" * 900) for _ in range(1500)]
        t.waiting("a", len(waiting) - 1)
        number = h.send("list", name="a")
        t.equal(h.hold("b"), number + 1)  # meanwhile
        t.equal(h.next("done", id=number)["count"], len(waiting))
        t.equal(sum(line["event"] == "entry" for line in h.kept), len(waiting), "entries")


def without_rights():
    """Root, too, cannot open what its mode does not allow."""
    for capability in range(64):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@case
def a_pipe_that_cannot_be_opened_again_blocks_nothing(t):
    """As that of another user.  The helper writes as much as there is room for, and still sees the end."""
    reader, writer = os.pipe()
    os.fchmod(writer, 0)
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 8192)  # of which `hello` takes one page
    process = t.start("serve", "--stdio", stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.DEVNULL,
                      preexec_fn=without_rights)
    os.close(writer)
    process.stdin.write(b'{"id":1,"op":"nonsense"}\n' * 100 + b'{"id":2,"op":"acquire","name":"a"}\n')
    process.stdin.flush()
    t.until("it holds", lambda: t.show("a")["holders"])
    process.stdin.close()
    t.until("it released", lambda: not t.show("a")["holders"])
    os.close(reader)
    t.equal(process.wait(LIMIT), 0)


@case
def the_end_is_seen_behind_a_full_queue(t):
    with helper(t) as h:
        h.hold("a")
        h.fill(lambda n: '{"id":1,"op":"nonsense"}\n' * 100)
        h.process.stdin.close()
        t.until("it is released", lambda: not t.list())
        t.true(len(h.all()) > 1000, "lines that were queued")
        t.equal(h.process.wait(LIMIT), 0)


# ---- The end ----------------------------------------------------------------------------


@case
def the_end_of_stdin_releases_all(t):
    with helper(t) as h:
        for number in range(20):
            h.hold(f"a{number}")
            h.send("acquire", name=f"a{number}")
        h.write('{"id":900,"op":"acquire","name":"half')
        t.equal(h.end(), [], "lines")
        t.equal(t.list(), [], "locks")


@case
def the_end_does_not_take_longer_with_many_who_follow_their_place(t):
    with helper(t) as h, helper(t) as other:
        other.hold("a")
        h.hold("b")
        for _ in range(150):
            h.send("acquire", name="a", place=True)
        t.waiting("a", 150)
        h.process.stdin.close()
        begin = time.monotonic()
        t.until("b is released", lambda: not t.show("b")["holders"])
        t.equal(h.process.wait(LIMIT), 0, "exit status")
        t.true(time.monotonic() - begin < 5, f"{time.monotonic() - begin:.1f} s")


@case
def the_end_of_stdout_releases_all(t):
    with helper(t) as h:
        h.hold("a")
        h.process.stdout.close()
        t.equal(h.process.wait(LIMIT), 0, "exit status")
        t.equal(t.list(), [], "locks")


@case
def signals_to_the_whole_group_do_not_end_it(t):
    with helper(t, start_new_session=True) as h:
        lock = h.hold("a")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            os.killpg(h.process.pid, number)
        t.equal(h.call("check", lock=lock)["event"], "done")


@case
def the_program_is_killed(t):
    code = ("import os, subprocess, time; p = subprocess.Popen([os.environ['HF'], 'serve', '--stdio'],"
            "stdin=subprocess.PIPE, stdout=subprocess.PIPE); p.stdin.write(b'{\"id\":1,\"op\":\"acquire\","
            "\"name\":\"a\"}\\n'); p.stdin.flush(); [print(p.stdout.readline()) for _ in range(2)];"
            "print(p.pid, flush=True); time.sleep(1000)")
    program = t.start("-c", code, executable=sys.executable, called="python3")
    t.until("it holds", lambda: t.show("a")["holders"])
    program.kill()
    program.wait()
    t.until("nobody holds it", lambda: not t.show("a")["holders"])


@case
def a_store_that_cannot_be_opened(t):
    for url, code in (("nonsense://x", 64), (f"sqlite:{t.path('no/such/folder')}/x", 69)):
        done = t.run("serve", "--stdio", "--url", url, data=b'{"id":1,"op":"list"}\n')
        answer, = map(json.loads, done.out.splitlines())
        t.equal((answer["event"], answer["id"], done.code), ("failed", None, code), done.err)
        t.one_line(done.err)
    done = t.run("serve", "--stdio", env={"HOLDFAST_URL": None, "HOLDFAST_STORE": ""})
    t.contains(json.loads(done.out)["text"], "name a store by --url-file")
    t.equal(done.code, 64, "inside a run that has a password")
    t.equal(t.run("serve").code, 64, "without --stdio")
    t.equal(t.run("serve", "--stdio", stdout=None, preexec_fn=lambda: os.close(1)).code, 64, "closed stdout")


@case
def a_release_that_the_store_does_not_confirm(t):
    with leases(t) as server:
        with helper(t) as h:
            lock = h.hold("a")
            server.freeze()
            try:
                begin = time.monotonic()
                t.equal(h.call("release", lock=lock)["error"], "HF_EDOWN")
                t.true(time.monotonic() - begin < 5 * LEASE_S, "at the deadline")
            finally:
                server.thaw()


@case
def a_wait_is_given_up_while_the_store_is_away(t):
    with leases(t) as server:
        with helper(t) as h:
            h.hold("a")
            waiting = h.send("acquire", name="a")
            t.waiting("a", 1)
            server.freeze()
            try:
                t.equal(h.call("release", lock=waiting)["error"], None)
                t.equal(h.next(id=waiting)["error"], "HF_ECANCELED")
                t.equal([line for line in h.kept if line["event"] == "lost"], [], "lost before")
            finally:
                server.thaw()


@case
def a_stopped_helper_loses_its_locks(t):
    with leases(t):
        with helper(t) as h:
            lock = h.hold("a")
            waiter = t.start("run", "a", "--", "true")
            t.waiting("a", 1)
            h.process.send_signal(signal.SIGSTOP)
            t.equal(t.finish(waiter).code, 0, "the next")
            h.process.send_signal(signal.SIGCONT)
            t.equal(h.next("lost")["why"], "expired")
            t.equal(h.call("release", lock=lock)["error"], "HF_ELOST")
            h.hold("a")  # in a new session


@case
def the_end_while_the_store_does_not_answer(t):
    """Questions are given up after 5 s; the end does not wait for more."""
    with leases(t) as server:
        with helper(t) as h:
            lock = h.hold("a")
            server.freeze()
            try:
                for _ in range(20):
                    h.send("check", lock=lock)
                h.process.stdin.close()
                t.equal(h.process.wait(20), 0, "exit status")
            finally:
                server.thaw()
        t.until("nobody holds it", lambda: not t.show("a")["holders"])


main()
