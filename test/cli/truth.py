#!/usr/bin/env -S python3 -B
"""truth.py - messages name the true reason, when that is neither a lock that is held nor a
lack of memory."""
import fcntl
import resource
import termios
from hf import *


def few_descriptors(count):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


@case
def lack_of_descriptors_is_not_reported_as_lack_of_memory(t):
    t.equal(t.run("init").code, 0)
    for args in (["list"], ["run", "a", "--", "true"], ["list", "--url", "memory:x"]):
        said = set()
        for count in range(4, 40):
            done = t.run(*args, preexec_fn=few_descriptors(count))
            if done.code == 0:
                break
            t.lacks(done.err, "memory ")
            t.lacks(done.err, "out of memory")
            said.add("open files" in done.err)
        t.equal(done.code, 0, f"{args} with {count} descriptors: {done.err}")
        t.true(True in said, f"{args}: nothing was ever said of files")


@case
def a_missing_working_folder_is_not_reported_as_lack_of_memory(t):
    gone = t.path("gone")
    gone.mkdir()
    script = f'cd {gone} && rmdir {gone} && exec "$HF" run --url sqlite:x.db a true'
    done = subprocess.run(["sh", "-c", script], env=t.env, capture_output=True, text=True)
    t.equal(done.returncode != 0, True, "it ran")
    t.one_line(done.stderr)
    t.contains(done.stderr, "working directory")
    t.lacks(done.stderr, "memory")


@case
def a_taken_write_lock_is_not_reported_as_a_held_lock(t):
    t.equal(t.run("run", "a", "true").code, 0)
    with open(t.path("locks.db-live")) as live:
        fcntl.flock(live, fcntl.LOCK_EX)  # as a client does that was stopped while it wrote
        for option in (["-w", "0.6"], ["-n"]):
            done = t.run("run", *option, "a", "true")
            t.equal(done.code, 69, option)
            t.contains(done.err, f"{t.path('locks.db')} is not answering")
            t.lacks(done.err, "held")
    t.equal(t.run("run", "-n", "a", "true").code, 0)


@case
def any_home_will_do(t):
    for name in ("50%", "a?b=c", "%41&x", "a b"):
        home = t.path(name)
        home.mkdir()
        env = {"HOME": str(home), "XDG_STATE_HOME": "", "HOLDFAST_URL": None}
        done = t.run("run", "a", "true", env=env)
        t.equal((done.code, done.err), (0, ""), name)
        t.true((home / ".local/state/holdfast/locks.db").exists(), name)
        doctor = t.run("doctor", env=env)
        t.equal(doctor.code, 0)
        t.contains(doctor.out, f"{home}/.local/state/holdfast/locks.db, ")


@case
def list_says_which_store(t):
    """On a terminal only: scripts get the same output as ever."""
    url = t.env["HOLDFAST_URL"]
    for held in (False, True):
        holder = t.hold("a") if held else None
        t.lacks(t.run("list").out, url)
        master, slave = os.openpty()
        size = termios.tcgetattr(slave)
        size[1] &= ~termios.OPOST
        termios.tcsetattr(slave, termios.TCSANOW, size)
        process = t.start("list", stdout=slave)
        os.close(slave)
        said = b""
        try:
            while more := os.read(master, 4096):
                said += more
        except OSError:  # it has ended
            pass
        os.close(master)
        t.equal(process.wait(), 0)
        lines = said.decode().splitlines()
        t.equal(lines[0], url if held else f"no lock is in use in {url}")
        t.equal(len(lines), 3 if held else 1, lines)
        if held:
            t.end(holder)


main()
