#!/usr/bin/env -S python3 -B
"""guardian.py - whatever happens to holdfast, its command never runs while
somebody else has the lock."""
import contextlib
import ctypes
import errno
import struct
from hf import *

# A pipeline, with one member that left by a double fork, one in a session of its
# own, and one that did both.  Each writes down when it was last alive.
TREE = """
alive() { while :; do echo >"$D/alive.$1"; sleep 0.01; done; }
( alive doublefork & ) &
setsid sh -c 'while :; do echo >"$D/alive.setsid"; sleep 0.01; done' &
( setsid sh -c 'while :; do echo >"$D/alive.both"; sleep 0.01; done' & )
alive left | { alive right; }
"""
MEMBERS = ("doublefork", "setsid", "both", "left", "right")


def hold_with_tree(t, name="a", *options):
    holder = t.hold(name, *options, script=TREE)
    for member in MEMBERS:
        t.until(f"{member} is alive", t.path(f"alive.{member}").exists)
    return holder


@case
def killing_holdfast_ends_the_tree_before_the_next_starts(t):
    holder = hold_with_tree(t)
    # The waiter's command looks for survivors as its very first act.
    probe = ("import glob, sys\n"
             "me = open('/proc/self/environ', 'rb').read()\n"
             "for p in glob.glob('/proc/[0-9]*'):\n"
             "    try: env = open(p + '/environ', 'rb').read(); cmd = open(p + '/cmdline', 'rb').read()\n"
             "    except OSError: continue\n"
             f"    if {t.mark!r}.encode() in env and b'ali' + b've' in cmd: print(p, cmd)\n")
    waiter = t.start("run", "a", "--", sys.executable, "-c", probe)
    t.waiting("a", 1)
    begin = time.monotonic()
    t.end(holder, signal.SIGKILL)
    done = t.finish(waiter)
    t.equal((done.code, done.out), (0, ""), "survivors")
    t.true(time.monotonic() - begin < 10, "took long")


@case
def killing_the_guardian_ends_the_tree_and_exits_79(t):
    holder = hold_with_tree(t)
    waiter = t.start("run", "a", "--", "echo", "mine")
    t.waiting("a", 1)
    os.kill(t.guardian(holder), signal.SIGKILL)
    done = t.finish(holder)
    t.equal(done.code, 79)
    t.one_line(done.err)
    t.contains(done.err, "guardian")
    t.equal(t.finish(waiter).out, "mine\n")


@case
def stopped_holdfast_keeps_the_lock(t):
    holder = hold_with_tree(t)
    holder.send_signal(signal.SIGSTOP)
    t.until("it is stopped", lambda: state_of(holder.pid) == "T")
    t.equal(t.run("run", "-w", "2", "a", "echo", "no").out, "")
    t.equal(len(t.show("a")["holders"]), 1)
    holder.send_signal(signal.SIGCONT)
    t.equal(t.end(holder).code, 143)


@case
def sigterm_is_for_the_whole_tree(t):
    """It ends what has left the command's process group, too, and once is enough."""
    for words in (["sh", "-c", "timeout 1000 sleep 1000; true"], ["sh", "-c", "setsid -w sleep 1000; true"],
                  ["sh", "-c", "setsid sleep 1000 & wait"], ["bash", "-mc", "sleep 1000; true"]):
        holder = t.start("run", "a", "--", *words)
        t.until("it is up", lambda: any(line.startswith("sleep ") for line in t.processes().values()))
        done = t.end(holder)
        t.equal(done.code, 143, words)
        t.lacks(done.err, "running")
    # With --leftovers leave they are not of the job, and other signals are as at a terminal.
    for options, sent in ((["--leftovers", "leave"], signal.SIGTERM), ([], signal.SIGHUP)):
        holder = t.start("run", "-q", *options, "a", "--", "sh", "-c", "setsid sleep 1000 & exec sleep 999")
        daemon, = t.until("it is up", lambda: [pid for pid, line in t.processes().items() if line == "sleep 1000 "])
        t.until("it sleeps", lambda: "sleep 999 " in t.processes().values())
        holder.send_signal(sent)
        t.until("the command has ended", lambda: "sleep 999 " not in t.processes().values())
        t.true(state_of(daemon) not in "ZX", "the daemon was ended")
        os.kill(daemon, signal.SIGKILL)
        t.equal(t.finish(holder).code, 128 + sent)


@case
def sigterm_ends_only_what_obeys(t):
    """What does not keeps the lock; `kill -9` of run ends it."""
    holder = t.hold("a", script="setsid sh -c 'trap : TERM; echo >$D/deaf; while :; do sleep 0.02; done' "
                              "2>/dev/null & exec sleep 1000")
    t.until("it is deaf", t.path("deaf").exists)
    holder.terminate()
    t.contains(holder.stderr.readline().decode(), "running")
    t.equal(t.run("try", "a", "true").code, 75)
    t.end(holder, signal.SIGKILL)
    t.equal(t.run("run", "-w", "20", "a", "true").code, 0)


@case
def killing_a_stopped_holdfast_ends_the_tree(t):
    holder = hold_with_tree(t)
    waiter = t.start("run", "a", "--", "echo", "mine")
    t.waiting("a", 1)
    holder.send_signal(signal.SIGSTOP)
    t.until("it is stopped", lambda: state_of(holder.pid) == "T")
    t.end(holder, signal.SIGKILL)
    t.equal(t.finish(waiter).out, "mine\n")
    t.equal(t.processes(), {})


def freeze(pid):
    """Stop a process as a debugger does: the kernel itself continues one that was
    stopped by a signal when its parent dies."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, pid, None, None) < 0:  # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), "ptrace")
    os.waitpid(pid, 0x40000000)  # __WALL
    return lambda: libc.ptrace(17, pid, None, None)  # PTRACE_DETACH


@case
def a_guardian_that_hangs_keeps_the_lock_of_a_killed_holdfast(t):
    holder = hold_with_tree(t)
    waiter = t.start("run", "a", "--", "echo", "mine")
    t.waiting("a", 1)
    thaw = freeze(t.guardian(holder))
    holder.kill()
    holder.wait(LIMIT)
    t.equal(t.run("run", "-w", "0.5", "a", "true").code, 75)
    t.equal([entry["pid"] for entry in t.show("a")["holders"]], [holder.pid])
    thaw()
    t.equal(t.finish(waiter).out, "mine\n")


@case
def killed_while_waiting_leaves_nothing(t):
    holder = t.hold("a")
    waiter = t.start("run", "a", "--", "echo", "no")
    t.waiting("a", 1)
    t.end(waiter, signal.SIGKILL)
    t.waiting("a", 0)
    t.until("its guardian is gone too", lambda: len(t.processes()) == 4)
    t.end(holder)


@case
def no_message_claims_to_have_ended_a_command_never_started(t):
    holder = t.hold("a")
    waiter = t.start("run", "-q", "a", "--", "echo", "no")
    t.waiting("a", 1)
    os.kill(t.guardian(waiter), signal.SIGKILL)
    t.end(holder)
    done = t.finish(waiter)
    t.equal((done.code, done.out), (79, ""))
    t.one_line(done.err)
    t.contains(done.err, "the command was not started")


@case
def leftovers_keep_the_lock(t):
    holder = t.start("run", "a", "--", "sh", "-c",
                     'sh -c "while ! test -e $D/go; do sleep 0.01; done" >/dev/null 2>&1 & exit 6')
    waiter = t.start("run", "-w", "10", "a", "--", "echo", "mine")
    t.contains(holder.stderr.readline().decode(), " running: keeping")
    t.equal(t.run("try", "a", "true").code, 75)
    t.path("go").touch()
    t.equal(t.finish(holder).code, 6)
    t.equal(t.finish(waiter).out, "mine\n")


@case
def a_signal_reaches_leftovers(t):
    holder = t.start("run", "a", "--", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & exit 6")
    holder.stderr.readline()
    holder.terminate()
    t.equal(holder.wait(LIMIT), 6)


@case
def a_command_that_forks_without_end_is_ended(t):
    bomb = ("import os, time\n"
            "end = time.time() + 50\n"
            "open(os.environ['D'] + '/forking', 'w').close()\n"
            "while time.time() < end:\n"
            "    if os.fork() == 0: os.setsid()\n"
            "    else: time.sleep(0.02); os._exit(0)\n")
    holder = t.start("run", "a", "--", sys.executable, "-c", bomb)
    t.until("it forks", t.path("forking").exists)
    time.sleep(0.3)  # some generations of it
    t.end(holder, signal.SIGKILL)
    t.until("all of it is gone", lambda: not t.processes(), 25)


@case
def a_stopped_tree_is_ended_too(t):
    holder = hold_with_tree(t)
    for pid, command in t.processes().items():
        if "alive" in command:
            with contextlib.suppress(ProcessLookupError):  # for a moment, between fork and exec, a sleep
                os.kill(pid, signal.SIGSTOP)
    t.end(holder, signal.SIGKILL)
    t.until("all of it is gone", lambda: not t.processes())


@case
def break_ends_the_tree_and_exits_79(t):
    holder = hold_with_tree(t)
    waiter = t.start("run", "a", "--", "echo", "mine")
    t.waiting("a", 1)
    t.equal(t.run("break", "--yes", "a").code, 0)
    done = t.finish(holder)
    t.equal(done.code, 79)
    t.one_line(done.err)
    t.contains(done.err, "lost")
    t.equal(t.finish(waiter).out, "mine\n")


@case
def break_with_a_stopped_guardian_ends_the_tree(t):
    holder = hold_with_tree(t)
    os.kill(t.guardian(holder), signal.SIGSTOP)
    t.equal(t.run("break", "--yes", "a").code, 0)
    t.equal(t.finish(holder).code, 79)


@case
def children_from_before_are_left_alone(t):
    script = 'sleep 1000 & echo $! >$D/sleeper; exec "$HF" run a -- sh -c "echo >$D/up; sleep 1000"'
    process = subprocess.Popen(["sh", "-c", script], env=t.env, stderr=subprocess.DEVNULL)
    t.started.append(process)
    t.until("it is up", t.path("up").exists)
    sleeper = int(t.path("sleeper").read_text())
    guardian = [pid for pid, command in t.processes().items()
                if open(f"/proc/{pid}/comm").read().strip() == "hf-guardian"]
    t.equal(len(guardian), 1)
    os.kill(guardian[0], signal.SIGKILL)
    t.equal(process.wait(LIMIT), 79)
    t.true(state_of(sleeper) not in "ZX", "the older child was ended")
    os.kill(sleeper, signal.SIGKILL)


@case
def a_stopped_guardian_below_an_outer_one_is_dismissed(t):
    """After the command's end, and while waiting."""
    script = 'sleep 1000 >/dev/null 2>&1 & echo $! >$D/older; exec "$HF" run "$@"'

    def stop_guardian(process):
        outer = next(pid for pid in children_of(process.pid) if name_of(pid) == "hf-outer")
        guardian, = children_of(outer)
        os.kill(guardian, signal.SIGSTOP)
        t.until("it is stopped", lambda: state_of(guardian) == "T")

    lingers = t.start("-c", script, "sh", "--hold-at-least", "10m", "a", "true", executable="/bin/sh")
    t.contains(lingers.stderr.readline().decode(), "keeping")
    os.kill(int(t.path("older").read_text()), signal.SIGKILL)
    stop_guardian(lingers)
    t.equal(t.end(lingers).code, 0)
    holder = t.hold("a")
    waits = t.start("-c", script, "sh", "a", "true", executable="/bin/sh")
    t.waiting("a", 1)
    os.kill(int(t.path("older").read_text()), signal.SIGKILL)
    stop_guardian(waits)
    t.equal(t.end(waits).code, 143)
    t.end(holder)


@case
def no_control_group_is_left(t):
    holders = []

    def hold(script):
        holders.append((t.hold("a", script=script), t.guardian(t.started[-1])))
        return holders[-1]

    holder, guardian = hold("exec sleep 1000")
    os.kill(guardian, signal.SIGKILL)
    t.finish(holder)
    # One that nobody could remove is removed by the next.
    holder, guardian = hold("exec sleep 1000")
    os.kill(holder.pid, signal.SIGSTOP)
    os.kill(guardian, signal.SIGKILL)
    t.end(holder, signal.SIGKILL)
    holder, guardian = hold(TREE)
    t.end(holder, signal.SIGKILL)
    t.until("nothing is left", lambda: not t.processes())

    def none_left():  # whoever runs next removes it, once the dead guardian was reaped
        t.equal(t.run("run", "a", "true").code, 0)
        return not any(glob.glob(f"/sys/fs/cgroup/**/holdfast-{holder.pid}-*", recursive=True)
                       for holder, guardian in holders if state_of(guardian) == "X")

    t.until("no group is left", none_left, 10)


@case
def no_control_group_of_an_inner_run_is_left(t):
    """A run inside of a run has its group in the outer one's.  The outer guardian kills all of it,
    the inner guardian too, which could remove nothing then; or nobody is left to remove either."""
    inner = f"exec {HOLDFAST} run b -- sh -c 'echo on >\"$D/inner\"; exec sleep 1000'"

    def hold():
        t.path("inner").unlink(missing_ok=True)
        holder = t.hold("a", script=inner)
        t.until("the inner one runs", t.path("inner").exists)
        return holder, t.guardian(holder)

    def groups(holder):
        return glob.glob(f"/sys/fs/cgroup/**/holdfast-{holder.pid}-*", recursive=True)

    holder, _ = hold()
    t.end(holder, signal.SIGKILL)
    t.until("nothing is left", lambda: not t.processes())
    t.until("its guardian removes them", lambda: not groups(holder), 10)

    holder, second = hold()
    os.kill(holder.pid, signal.SIGSTOP)
    for pid in [second, *(pid for pid in t.processes() if pid not in (second, holder.pid))]:
        with contextlib.suppress(ProcessLookupError):  # it went with the one before
            os.kill(pid, signal.SIGKILL)
    t.end(holder, signal.SIGKILL)

    def none_left():
        t.equal(t.run("run", "a", "true").code, 0)
        return not groups(holder)

    t.until("no group is left", none_left, 10)


SENDMSG = {"x86_64": 46, "aarch64": 211}  # its number
MSG_DONTWAIT = 0x40


def without_memory_for_messages():
    """From now on this process sends none without waiting: ENOBUFS, by a filter of seccomp."""
    code = [(0x20, 0, 0, 0),  # the number of the call
            (0x15, 0, 3, SENDMSG[os.uname().machine]),
            (0x20, 0, 0, 32),  # its flags
            (0x45, 0, 1, MSG_DONTWAIT),
            (0x06, 0, 0, 0x00050000 | errno.ENOBUFS),
            (0x06, 0, 0, 0x7FFF0000)]  # allowed
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in code))
    program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


@case
def nothing_is_started_if_the_guardian_cannot_be_reached(t):
    done = t.run("run", "a", "--", "touch", t.path("ran"), preexec_fn=without_memory_for_messages)
    t.equal(done.code, 79)
    t.true(not t.path("ran").exists(), "the command ran")
    t.equal(t.run("run", "-n", "a", "true").code, 0)


main()
