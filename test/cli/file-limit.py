#!/usr/bin/env -S python3 -B
"""file-limit.py - a limit for the size of files (ulimit -f) is an error, not a death."""
import resource
from hf import *

SIZES = (0, 1000, 8192, 40000)


def limited(size):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


def check(t, done, what, *good):
    """It worked, or said in one line that it did not."""
    if done.code in good:
        return
    t.equal(done.code, 69, f"{what}: {done.err}")
    t.one_line(done.err)
    t.contains(done.err, "ulimit -f")


@case
def every_verb_says_so(t):
    """With files that are there, and without."""
    for there in (True, False):
        for size in SIZES:
            url = f"sqlite:{t.folder}/{there}{size}.db"
            env = {"HOLDFAST_URL": url}
            if there:
                t.equal(t.run("run", "a", "true", env=env).code, 0)
            for args, good in ((["run", "a", "echo", "ran"], (0,)), (["hold", "a"], (0,)),
                               (["list"], (0,)), (["show", "a"], (1,)), (["break", "-y", "a"], (1,)),
                               (["elect", "a", "echo", "ran"], (0,))):
                check(t, t.run(*args, env=env, preexec_fn=limited(size)), f"{args} {size} {there}", *good)
            t.equal(t.run("run", "a", "echo", "ran", env=env).out, "ran\n", "without the limit")


@case
def a_store_under_a_limit_is_full_and_usable_again(t):
    t.equal(t.run("run", "a", "true").code, 0)
    done = t.run("run", "a", "true", preexec_fn=limited(100))
    t.equal(done.code, 69)
    t.contains(done.err, "ulimit -f")
    t.equal(t.run("doctor").code, 0)


@case
def the_command_gets_the_callers_sigxfsz(t):
    script = "grep -E '^Sig(Blk|Ign|Pnd)|^ShdPnd' /proc/self/status"
    plain = subprocess.run(["sh", "-c", script], env=t.env, capture_output=True, text=True,
                           preexec_fn=limited(10**6))
    done = t.run("run", "a", "--", "sh", "-c", script, preexec_fn=limited(10**6))
    t.equal(done.out, plain.stdout)
    code = t.run("run", "a", "--", "sh", "-c", "head -c 100000 /dev/zero >$D/large",
                 preexec_fn=limited(70000)).code
    t.equal(code, 128 + signal.SIGXFSZ)


@case
def stderr_may_be_a_file_under_the_limit(t):
    holder = t.hold("a")
    with open(t.path("log"), "w") as log:
        process = t.start("run", "-w", "0.1", "a", "true", stderr=log, preexec_fn=limited(0))
        t.true(process.wait(LIMIT) in (69, 75), f"exit {process.returncode}")
    t.end(holder)


main()
