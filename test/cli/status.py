#!/usr/bin/env -S python3 -B
"""status.py - the events of --status-fd, on the file store; docs/status-fd.md is the protocol."""
import socket
import tty
from hf import *
from statusfd import Lines, reader


def released(t, lines):
    t.equal(lines.next("released")["error"], None)
    t.equal(lines.all(), [])


@case
def hold_reports_all_from_waiting_to_released(t):
    with reader(t, "hold", "a b", "--slots", "2", "-q") as (process, lines):
        t.equal(lines.next("waiting")["name"], "a b")
        held = lines.next("held")
        holder = t.show("a b")["holders"][0]
        t.equal((held["token"], held["slot"]), (holder["token"], 0))
        t.equal((held["left_ms"], held["deadline"]), (None, None))
        t.true(isinstance(held["token"], str), "a token is a string")
        process.stdin.close()
        released(t, lines)
        t.equal(process.wait(LIMIT), 0)


@case
def run_and_try_report_the_same(t):
    for verb in ("run", "try"):
        with reader(t, verb, "a", "--", "sh", "-c", "echo $HOLDFAST_TOKEN; exit 7") as (process, lines):
            lines.next("waiting")
            token = lines.next("held")["token"]
            released(t, lines)
            done = t.finish(process)
            t.equal((done.code, done.out, done.err), (7, f"{token}\n", ""))


@case
def each_change_of_the_place_is_reported(t):
    holder, between = t.hold("a"), t.start("run", "-q", "a", "--", "sleep", "1000")
    t.waiting("a", 1)
    with reader(t, "run", "-q", "a", "--", "true") as (process, lines):
        lines.next("waiting")
        t.equal(lines.next("place")["ahead"], 2)
        t.end(between)
        t.equal(lines.next("place")["ahead"], 1)
        t.end(holder)
        lines.next("held")
        released(t, lines)
        t.equal(t.finish(process).code, 0)


@case
def failed_tells_why(t):
    holder = t.hold("a")
    for options, error, code in ((["-n"], "HF_EBUSY", 75), (["-w", "0.01", "-E", "3"], "HF_ETIMEOUT", 3),
                                 (["--max-waiters", "1", "-q"], "HF_EFULL", 75), (["-s"], "HF_EMISMATCH", 64)):
        waiter = t.start("run", "-q", "a", "true") if error == "HF_EFULL" else None
        if waiter:
            t.waiting("a", 1)
        with reader(t, "hold", *options, "a") as (process, lines):
            lines.next("waiting")
            while (failed := lines.line())["event"] == "place":
                pass
            done = t.finish(process)
            t.equal((failed["event"], failed["error"], done.code), ("failed", error, code))
            t.equal(f"holdfast: {failed['text']}\n" if "-q" not in options else "", done.err)
            t.contains(failed["text"], '"a"')
            t.equal(lines.all(), [])
        if waiter:
            t.end(waiter)
    t.end(holder)


@case
def a_bad_store_or_name_is_reported(t):
    for args, error, secret in ((["a", "--url", "redis://ana:hunter2@h:port"], "HF_EINVAL", "hunter2"),
                                (["a", "--url", "sqlite:/nowhere/at/all/x"], None, "\0"),
                                (["x" * 5000 + "/"], "HF_EINVAL", "\0"), (["\x1b" * 300], "HF_EINVAL", "\0")):
        with reader(t, "hold", *args) as (process, lines):
            failed = lines.next("failed")
            t.lacks(json.dumps(failed), secret)
            t.true(failed["error"] == error or error is None, failed)
            t.equal(lines.all(), [])
            t.true(t.finish(process).code in (64, 69), "exit code")


@case
def a_signal_while_waiting(t):
    holder = t.hold("a")
    with reader(t, "hold", "-q", "a") as (process, lines):
        lines.next("waiting")
        lines.next("place")
        process.terminate()
        t.equal(lines.next("failed")["error"], "HF_ECANCELED")
        t.equal((lines.all(), process.wait(LIMIT)), ([], 143))
    t.end(holder)


@case
def closing_stdin_ends_the_wait(t):
    """So does who dies: nothing waits for a program that is gone."""
    holder = t.hold("a")
    for pair in (os.pipe, lambda: [end.detach() for end in socket.socketpair()]):  # Node has sockets
        theirs, ours = pair()
        with reader(t, "hold", "-q", "a", stdin=theirs) as (process, lines):
            os.close(theirs)
            lines.next("waiting")
            lines.next("place")
            os.close(ours)
            t.equal(lines.next("failed")["error"], "HF_ECANCELED")
            t.equal((lines.all(), process.wait(LIMIT)), ([], 75))
    t.equal(t.show("a")["waiters"], [])
    with reader(t, "hold", "-q", "a", stdin=subprocess.DEVNULL) as (process, lines):
        lines.next("waiting")
        lines.next("place")
        t.end(holder)
        lines.next("held")
        released(t, lines)


@case
def a_stopped_waiter_waits_again(t):
    holder = t.hold("a")
    with reader(t, "hold", "-q", "a", preexec_fn=os.setpgrp) as (process, lines):
        lines.next("waiting")
        lines.next("place")
        process.send_signal(signal.SIGTSTP)
        t.until("it is stopped", lambda: state_of(process.pid) == "T")
        process.send_signal(signal.SIGCONT)
        lines.next("waiting")
        lines.next("place")
        t.end(holder)
        lines.next("held")
        process.stdin.close()
        released(t, lines)


@case
def each_request_is_reported_with_its_reason(t):
    for verb, command in (("hold", []), ("run", ["--", "sleep", "1000"])):
        with reader(t, verb, "-q", "a", *command) as (process, lines):
            lines.next("waiting")
            lines.next("held")
            for reason in ("first", "\x1b" * 500, ""):
                t.equal(t.run("ask", "a", *(["--reason", reason] if reason else [])).code, 0)
                asked = lines.next("asked")["reason"]
                t.true(asked == reason or len(asked) > 200 and reason.startswith(asked), repr(asked))
            process.terminate()
            released(t, lines)
            t.finish(process)


@case
def a_broken_lock_is_lost(t):
    for verb, command in (("hold", []), ("run", ["--", "sleep", "1000"])):
        with reader(t, verb, "-q", "a", *command) as (process, lines):
            lines.next("waiting")
            lines.next("held")
            t.equal(t.run("break", "-y", "a").code, 0)
            t.equal(lines.next("lost")["why"], "gone")
            t.equal((lines.all(), t.finish(process).code), ([], 79))


@case
def elect_reports_each_term(t):
    with reader(t, "elect", "-q", "--again", "a", "--", "sh", "-c", "echo $HOLDFAST_TOKEN; read end") as (process, lines):
        tokens = []
        for end in ("lost", "released"):
            lines.next("waiting")
            tokens.append(int(lines.next("held")["token"]))
            t.equal(int(process.stdout.readline()), tokens[-1])
            if end == "lost":
                t.equal(t.run("break", "-y", "a").code, 0)
            else:
                process.stdin.write(b"\n")
                process.stdin.flush()
            lines.next(end)
        t.true(tokens[0] < tokens[1], tokens)
        lines.next("waiting")
        lines.next("held")
        process.terminate()
        released(t, lines)
        t.finish(process)


@case
def the_command_does_not_get_it_and_a_kill_ends_it(t):
    """Nobody but holdfast keeps it open: the end of the file is the end of holdfast."""
    with reader(t, "run", "a", "--", "sh", "-c", "trap '' TERM; ls -l /proc/self/fd; echo .; sleep 1000 & wait") as (process, lines):
        lines.next("waiting")
        lines.next("held")
        listing = b""
        while not listing.endswith(b"\n.\n"):
            listing += process.stdout.readline()
        t.lacks(listing.decode(), f"pipe:[{os.fstat(lines.fd).st_ino}]")
        process.kill()
        t.equal(lines.all(), [])


@case
def stdout_will_do_and_is_left_as_it_was(t):
    read_end, write_end = os.pipe()
    for verb, command, between in (("hold", [], []), ("run", ["--", "echo", "hi"], ["hi"])):
        done = t.run(verb, "-q", "--status-fd", "1", "a", *command)
        found = done.out.splitlines()
        t.equal([line for line in found if line[0] != "{"], between)
        t.equal([json.loads(line)["event"] for line in found if line[0] == "{"], ["waiting", "held", "released"])
        process = t.start(verb, "-q", "--status-fd", "1", "a", *command, stdout=write_end)
        t.equal(process.wait(LIMIT), 0)
        t.true(os.get_blocking(write_end), "the other end of our pipe became nonblocking")
    os.close(read_end)
    os.close(write_end)


@case
def a_socket_and_a_file_will_do(t):
    ours, theirs = socket.socketpair()
    with ours, theirs, open(t.path("log"), "wb+") as log:
        log.write(b"before\n")
        log.flush()
        for file in (theirs, log):
            process = t.start("run", "a", "--status-fd", str(file.fileno()), "--", "true", pass_fds=[file.fileno()])
            t.equal(t.finish(process).code, 0)
        theirs.close()
        t.equal(Lines(t, ours.fileno()).all(), ["waiting", "held", "released"])
        text = t.path("log").read_text().splitlines()
        t.equal((text[0], [json.loads(line)["event"] for line in text[1:]]), ("before", ["waiting", "held", "released"]))


@case
def a_pseudo_terminal_will_do_from_either_end(t):
    for end in (0, 1):
        ends = os.openpty()
        tty.setraw(ends[1])
        process = t.start("run", "--status-fd", str(ends[end]), "a", "true", pass_fds=[ends[end]])
        lines = Lines(t, ends[1 - end])
        for event in ("waiting", "held", "released"):
            lines.next(event)
        t.equal(t.finish(process).err, "")
        for fd in ends:
            os.close(fd)


@case
def a_write_error_is_reported_once(t):
    with open("/dev/full", "w") as full:
        done = t.run("run", "--status-fd", str(full.fileno()), "a", "true", pass_fds=[full.fileno()])
    t.equal(done.code, 0)
    t.one_line(done.err)
    t.contains(done.err, "No space left")


@case
def a_long_text_is_cut_at_a_character(t):
    """Also in the name of a lock that is no name, for it is too long."""
    for name in (200 * "é", "x" + 200 * "é"):
        with reader(t, "run", "-q", name, "true") as (process, lines):
            told = lines.line()["name"]
            t.true(len(told) > 120 and name.startswith(told), told)
            t.equal(t.finish(process).code, 64)


@case
def a_reader_that_reads_late_gets_all(t):
    with reader(t, "hold", "-q", "a", full=True) as (process, lines):
        t.until("it is held", lambda: t.show("a")["holders"])
        t.equal(t.run("ask", "a", "--reason", "x").code, 0)
        process.stdin.close()
        t.until("it is free", lambda: not t.show("a")["holders"])
        lines.drain()
        t.equal((lines.all(), process.wait(LIMIT)), (["waiting", "held", "asked", "released"], 0))


@case
def the_lock_stays_held_when_the_reader_has_gone(t):
    for verb, command in (("hold", []), ("run", ["--", "cat"])):
        with reader(t, verb, "-q", "a", *command) as (process, lines):
            lines.next("waiting")
            lines.next("held")
        t.equal(t.run("ask", "a").code, 0)
        t.equal(t.run("try", "-q", "a", "true").code, 75, "it is still held")
        process.stdin.close()
        process.stdin = None
        done = t.finish(process)
        t.equal((done.code, done.err), (0, ""))


@case
def a_bad_descriptor_is_named(t):
    read_end, write_end = os.pipe()
    os.close(write_end)
    for verb, command in (("hold", []), ("run", ["true"]), ("try", ["true"]), ("elect", ["true"])):
        for number in (read_end, 900):
            done = t.run(verb, "a", "--status-fd", str(number), *command, pass_fds=[read_end])
            t.equal((done.code, done.err), (64, f"holdfast: --status-fd {number}: this descriptor is not open for writing\n"))
    for bad in ("", "x", "-1", "0", "2147483648", "1.5"):
        done = t.run("hold", "a", "--status-fd", bad)
        t.equal(done.code, 64)
        t.contains(done.err, f'--status-fd "{bad}" is not the number of a descriptor')
    closed = subprocess.run(["sh", "-c", '"$HF" hold a --status-fd 1 >&-'], env=t.env, capture_output=True, text=True)
    t.equal((closed.returncode, closed.stderr), (64, "holdfast: --status-fd 1: this descriptor is not open for writing\n"))
    t.equal(t.run("elect", "--observe", "--status-fd", "1", "a").code, 64)
    os.close(read_end)


main()
