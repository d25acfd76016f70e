#!/usr/bin/env -S python3 -B
"""waiting.py - waiting, not waiting, and what is said about it."""
import getpass
import pty
import re
import socket
from hf import *


@case
def busy_names_the_holder(t):
    holder = t.hold("nightly")
    for args in (["run", "-n"], ["try"], ["run", "-w", "0"]):
        done = t.run(*args, "nightly", "--", "echo", "no")
        t.equal((done.code, done.out), (75, ""))
        t.one_line(done.err)
        user = re.escape(f"{getpass.getuser()}@{socket.gethostname()}")
        t.true(re.search(rf'"nightly" is held by sh .*\(pid {holder.pid}, {user}\) for \d+s',
                         done.err), done.err)
    t.equal(t.run("hold", "-n", "nightly").code, 75)
    t.equal(t.run("try", "-q", "nightly", "true").err, "")
    t.end(holder)


@case
def the_exit_code_for_busy_can_be_chosen(t):
    holder = t.hold("a")
    for code in (0, 1, 255):
        done = t.run("run", "-n", "-E", str(code), "a", "--", "sh", "-c", "exit 9")
        t.equal(done.code, code, done.err)
        t.equal(t.run("try", f"--conflict-exit-code={code}", "a", "true").code, code)
    t.end(holder)


@case
def a_wait_ends_in_time(t):
    holder = t.hold("a")
    for text, seconds in (("0.3", 0.3), ("250ms", 0.25), ("0.005m", 0.3)):
        done = t.run("run", "-w", text, "a", "true")
        t.equal((done.code, done.out), (75, ""))
        t.true(seconds <= done.seconds < seconds + 5, f"-w {text} took {done.seconds} s")
    t.equal(t.show("a")["waiters"], [])
    t.end(holder)


@case
def a_wait_ends_with_the_lock(t):
    holder = t.hold("a")
    waiter = t.start("run", "-w", "10", "a", "--", "echo", "mine")
    t.waiting("a", 1)
    t.end(holder)
    done = t.finish(waiter)
    t.equal((done.code, done.out), (0, "mine\n"))


@case
def first_come_first_served(t):
    holder = t.hold("a")
    waiters = []
    for i in range(5):
        waiters.append(t.start("run", "a", "--", "sh", "-c", f"echo {i} >>$D/order"))
        t.waiting("a", i + 1)
    t.end(holder)
    for waiter in waiters:
        t.equal(t.finish(waiter).code, 0)
    t.equal(t.path("order").read_text().split(), ["0", "1", "2", "3", "4"])


@case
def a_long_wait_says_for_whom(t):
    holder = t.hold("a")
    first = t.start("run", "a", "true")
    t.waiting("a", 1)
    second = t.start("run", "a", "true")
    quick = t.run("run", "-w", "0.2", "a", "true")
    if quick.seconds < 0.5:
        t.equal(quick.err.count("\n"), 1, "a short wait has only its end to tell")
    quiet = t.run("run", "-q", "-w", "0.6", "a", "true")
    t.equal(quiet.err, "")
    one, two = (waiter.stderr.readline().decode() for waiter in (first, second))
    told = time.monotonic()
    t.until("they have waited for more than a second", lambda: time.monotonic() > told + 0.7)
    t.end(holder)
    for waiter in (first, second):
        rest = t.finish(waiter).err
        t.true(re.fullmatch(r'holdfast: waited \d+s for "a"\n', rest), rest)
    t.true(re.search(rf'waiting for "a": held \d+s by sh .*pid {holder.pid}.*, you are next', one),
           one)
    t.true(re.search(rf'waiting for "a": held \d+s by sh .*pid {holder.pid}.*, 1 ahead of you',
                     two), two)


@case
def on_a_terminal_the_line_updates_itself(t):
    holder = t.hold("a")
    ours, theirs = pty.openpty()
    waiter = t.start("run", "a", "true", stderr=theirs, env={"TERM": "xterm"})
    os.close(theirs)
    text = b""
    while text.count(b"waiting for") < 2:
        text += os.read(ours, 4096)
    t.end(holder)
    t.equal(t.finish(waiter).code, 0)
    try:
        while more := os.read(ours, 4096):
            text += more
    except OSError:
        pass
    os.close(ours)
    t.true(re.fullmatch(rb'(\r\x1b\[Kholdfast: waiting for [^\r\n]+)+\r\x1b\[Kholdfast: waited \d+s for "a"\r\n', text),
           repr(text))


@case
def a_signal_leaves_the_queue_at_once(t):
    holder = t.hold("a")
    for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -2)):
        waiter = t.start("run", "a", "--", "echo", "no")
        t.waiting("a", 1)
        begin = time.monotonic()
        waiter.send_signal(number)
        done = t.finish(waiter)
        t.equal((done.code, done.out), (code, ""))
        t.true(time.monotonic() - begin < 5, "took long")
        t.equal(t.show("a")["waiters"], [])
    t.end(holder)


@case
def a_killed_waiter_is_passed_over(t):
    holder = t.hold("a")
    killed = t.start("run", "a", "true")
    t.waiting("a", 1)
    next_one = t.start("run", "a", "--", "echo", "mine")
    t.waiting("a", 2)
    t.end(killed, signal.SIGKILL)
    t.end(holder)
    t.equal(t.finish(next_one).out, "mine\n")


def inotifies(process):
    """How many instances of inotify a process has: a user may have 128 by default."""
    folder = f"/proc/{process.pid}/fd"
    return sum(os.readlink(f"{folder}/{name}") == "anon_inode:inotify" for name in os.listdir(folder))


@case
def only_holders_need_inotify(t):
    holder = t.hold("a")
    waiters = [t.start("run", "a", "--", "sh", "-c", "echo on; exec sleep 1000") for _ in range(3)]
    t.waiting("a", 3)
    t.until("the holder watches the files", lambda: inotifies(holder) == 1)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        t.equal([inotifies(process) for process in waiters], [0, 0, 0], "of those who wait")
        time.sleep(0.02)
    t.end(holder)
    first = t.until("one of them holds", lambda: next((p for p in waiters if inotifies(p) == 1), None))
    t.equal(first.stdout.readline(), b"on\n")
    for process in waiters:
        process.terminate()
    for process in waiters:
        t.finish(process)


@case
def the_longest_wait_is_one(t):
    """And is not over at once, as one that no clock can count would be."""
    holder = t.hold("a")
    waiter = t.start("run", "-w", "1000000000d", "a", "--", "echo", "mine")
    t.waiting("a", 1)
    t.end(holder)
    t.equal(t.finish(waiter).out, "mine\n")
    t.equal(t.run("run", "-w", "1000000001d", "a", "true").code, 64, "that is no time")


@case
def hold_ends_with_stdin_or_a_signal(t):
    process = t.start("hold", "a", stdin=subprocess.PIPE)
    line = process.stderr.readline().decode()
    t.true(re.match(r'holdfast: holding "a", token \d+\n', line), line)
    t.equal(t.run("try", "a", "true").code, 75)
    process.stdin.write(b"noise\n")
    process.stdin.flush()
    t.equal(t.run("try", "a", "true").code, 75)
    process.stdin.close()
    t.equal(process.wait(LIMIT), 0)
    for number in (signal.SIGTERM, signal.SIGINT):
        process = t.start("hold", "a", stdin=subprocess.PIPE)
        process.stderr.readline()
        process.send_signal(number)
        t.equal(process.wait(LIMIT), 0)


main()
