#!/usr/bin/env -S python3 -B
"""syscalls.py - each system call that `run` makes, as an old kernel (ENOSYS) or a sandbox
(EPERM) has it: the command is refused, or it runs and is ended as always.  Nothing hangs, and
nothing of the command outlives its lock.

The command inherits the filter, and may fail by itself: then its exit code is the result."""
# release build: ASan makes system calls, too
import concurrent.futures
import ctypes
import errno
import re
import struct
from hf import *

# All that `run` makes on a file, but execve, by which it begins.
ALL = """
access arch_prctl brk chmod clock_nanosleep clone clone3 close close_range connect dup3 epoll_create1 epoll_ctl
epoll_wait epoll_pwait eventfd2 exit_group faccessat faccessat2 fallocate fchmod fchown fcntl fdatasync fgetxattr
flock fstat fstatfs ftruncate futex getcwd getdents64 geteuid getgroups getpgrp getpid getppid getpriority getrandom
getresgid getresuid getuid inotify_init1 inotify_add_watch ioctl kill linkat lseek madvise mkdir mkdirat
mknodat mlockall mmap mprotect munmap nanosleep newfstatat openat pidfd_open pidfd_send_signal pipe2
poll ppoll prctl pread64 prlimit64 pwrite64 read readlink readlinkat recvfrom recvmsg renameat renameat2
rseq rt_sigaction rt_sigprocmask rt_sigtimedwait sched_getscheduler sched_setscheduler
sendmsg sendto set_robust_list set_tid_address setpgid setpriority signalfd4 socket socketpair
statfs statx timerfd_create timerfd_settime uname unlink unlinkat utimensat wait4 waitid write
""".split()

# What the end of a command depends on.
ENDING = """
clock_nanosleep clone3 faccessat2 flock getdents64 kill mkdirat newfstatat pidfd_open pidfd_send_signal prctl statfs
unlinkat wait4 close_range dup3 getppid nanosleep poll readlink recvfrom recvmsg rt_sigaction rt_sigprocmask rt_sigtimedwait sendmsg sendto
setpgid signalfd4 timerfd_create timerfd_settime waitid
""".split()

ERRORS = {"ENOSYS": errno.ENOSYS, "EPERM": errno.EPERM}
HANGS = 8  # seconds; the slowest that does not hang takes less than one
WORKERS = 8


def numbers():
    """{name: number} of this machine, as its headers have them."""
    done = subprocess.run(["cc", "-E", "-dM", "-x", "c", "-"], input="#include <sys/syscall.h>\n", text=True,
                          stdout=subprocess.PIPE, check=True)
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)\n", done.stdout)}


def without_cgroups():
    """The mount is this process's own; only root can do that."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000) == 0:  # CLONE_NEWNS
        libc.mount(b"none", b"/", None, 0x44000, None)  # MS_REC | MS_PRIVATE
        libc.mount(b"none", b"/sys/fs/cgroup", b"tmpfs", 0, None)


def deny(number, error):
    """From now on this call fails in this process and its children, by a filter of seccomp."""
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | error), (0x06, 0, 0, 0x7FFF0000)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in code))
    program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


class Attempt:
    """One run with one call denied, in a folder of its own."""

    def __init__(self, t, call, number, error, script, prepare=lambda: None):
        self.t, self.name = t, f"{call} {error}"
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=t.folder))
        self.url = f"sqlite:{self.folder}/locks.db"
        self.process = subprocess.Popen([HOLDFAST, "run", "--url", self.url, "a", "--", "sh", "-c", script],
                                        env=dict(t.env, J=str(self.folder)), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=lambda: (prepare(), deny(number, ERRORS[error])))

    def up(self):
        """True: the command runs; False: it was refused, or has failed."""
        up = self.folder / "up"
        self.t.until("it is up or over", lambda: up.exists() or self.process.poll() is not None, HANGS)
        return up.exists() and self.process.poll() is None

    def end(self):
        """What is wrong with its end, or None.  All of the command has stdout open."""
        try:
            _, err = self.process.communicate(timeout=HANGS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return f"{self.name}: hangs"
        code = self.process.returncode
        if code == 0 and not (self.folder / "up").exists():
            return f"{self.name}: it says that the command ran"
        if code in (70, 79) and not err:
            return f"{self.name}: exit {code} without a word"
        return None


def runs(t, *how):
    return Attempt(t, *how, "echo >$J/up").end()


HELD = "setsid sh -c 'echo >$J/up; exec sleep 1000' & exec sleep 1000"


def ended(event, prepare=without_cgroups):
    """The command is up: then something happens to its lock, or to one of its keepers."""
    def attempt(t, *how):
        one = Attempt(t, *how, HELD, prepare)
        if one.up():
            event(one)
        return one.end()
    return attempt


def break_lock(one):
    one.t.run("break", "--yes", "--url", one.url, "a")


def stop_guardian(one):
    for pid in children_of(one.process.pid):
        os.kill(pid, signal.SIGSTOP)
    break_lock(one)


def kill_guardian(one):
    for pid in children_of(one.process.pid):
        os.kill(pid, signal.SIGKILL)


def each(t, attempt, calls):
    """Several at a time: most of them wait."""
    known = numbers()
    jobs = [(call, known[call], error) for call in calls if call in known for error in ERRORS]
    begin = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:
        wrong = [fault for fault in pool.map(Job(t, attempt), jobs) if fault]
    print(f"# {len(jobs)} attempts, {sum('hangs' in fault for fault in wrong)} hang; {time.monotonic() - begin:.1f} s")
    t.equal(wrong, [])


class Job:
    """A function for the pool's processes, which are forked: they know the case by name."""

    def __init__(self, t, attempt):
        Job.now = t, attempt

    def __call__(self, how):
        t, attempt = Job.now
        try:
            return attempt(t, *how)
        except (Failure, OSError) as error:
            return f"{how}: {error}"


@case
def a_command_runs_or_is_refused(t):
    each(t, runs, ALL)


@case
def a_lost_lock_ends_it(t):
    each(t, ended(break_lock), ENDING)


@case
def a_lost_lock_ends_it_with_a_control_group(t):
    each(t, ended(break_lock, lambda: None), ENDING[:14])


@case
def a_lost_lock_and_a_stopped_guardian(t):
    each(t, ended(stop_guardian), ENDING)


@case
def a_killed_guardian(t):
    each(t, ended(kill_guardian), ENDING)


@case
def a_killed_holdfast(t):
    each(t, ended(lambda one: one.process.kill()), ENDING)


@case
def a_killed_hold_is_noticed_without_pidfd_open(t):
    """The session guardian ends the session when the user of `hold` is dead, too."""
    number, file = numbers()["pidfd_open"], t.env["HOLDFAST_URL"]
    with a_redis(t) as server:
        t.env["HOLDFAST_URL"] = f"redis://{server.address}?ttl=60s"
        t.run("run", "-q", "--url", f"redis://{server.address}?ttl=1s", "a", "true")  # grants nothing at first
        user = subprocess.Popen(["sh", "-c", "$HF hold -q a; true"], env=t.env, stdin=subprocess.PIPE,
                                preexec_fn=lambda: deny(number, errno.EPERM))
        t.started.append(user)
        t.until("it holds", lambda: t.run("try", "-q", "a", "true").code == 75)
        hold, = children_of(user.pid)
        os.kill(user.pid, signal.SIGKILL)
        os.kill(hold, signal.SIGKILL)
        user.stdin.close()
        user.wait()
        t.equal(t.run("run", "-q", "-w", "20", "a", "true").code, 0)
    t.env["HOLDFAST_URL"] = file


main()
