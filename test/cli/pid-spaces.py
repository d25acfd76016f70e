#!/usr/bin/env -S python3 -B
"""pid-spaces.py - PID namespaces: the same number means another process there, and so may
/proc.  With and without a control group for the command."""
# release build: LeakSanitizer asks /proc, too
from hf import *

OWN_PROC = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
FOREIGN_PROC = ["unshare", "--pid", "--fork", "--kill-child"]
NO_CGROUP = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"]
UNTIL_GO = "until test -e $D/go; do sleep 0.01; done"
UNTIL_UP = "until test -e $D/up; do sleep 0.01; done"
SETS_PID = 'set_pid() { echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid; }\n'


def permitted():
    for words in (OWN_PROC + ["true"], NO_CGROUP + ["true"],
                  FOREIGN_PROC + ["sh", "-c", SETS_PID + "set_pid 99"]):
        if subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            return False
    return True


def begin(t, space, script, **env):
    """A shell in a namespace of its own.  It is process 1 there, so that holdfast is not."""
    process = subprocess.Popen([*space, "sh", "-c", script], env=dict(t.env, **env), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.begin = time.monotonic()
    t.started.append(process)
    return process


def guardians(t):
    return [pid for pid in t.processes() if name_of(pid) == "hf-guardian"]


@case
def a_killed_guardian_takes_no_run_of_another_namespace_along(t):
    """Both guardians have the same number, in one control group."""
    script = '$HF run -q $NAME -- sh -c "echo >$D/$NAME; until test -e $D/go; do sleep 0.01; done"; exit $?'
    one = begin(t, OWN_PROC, script, NAME="one")
    t.until("the first is up", t.path("one").exists)
    first = guardians(t)
    two = begin(t, OWN_PROC, script, NAME="two")
    t.until("the second is up", t.path("two").exists)
    second, = set(guardians(t)) - set(first)
    os.kill(second, signal.SIGKILL)
    t.equal(t.finish(two).code, 79)
    t.path("go").touch()
    t.equal(t.finish(one).code, 0, "the run whose guardian lives")


@case
def no_stranger_is_killed_if_proc_shows_another_namespace(t):
    """The guardian has the number of a process outside, whose child has that of a stranger
    inside."""
    outside = subprocess.Popen(["sh", "-c", "sleep 1000 & wait"], env=t.env)
    t.started.append(outside)
    child, = t.until("it has a child", lambda: children_of(outside.pid))
    done = t.finish(begin(t, FOREIGN_PROC, SETS_PID + f"""
        set_pid {child}; sleep 1000 & stranger=$!
        set_pid {outside.pid - 1}
        $HF run -q --max-run 0.1 --grace 0.1 a -- sh -c 'trap "" TERM; sleep 1000'; code=$?
        kill -0 $stranger && echo "$stranger lives"
        exit $code"""))
    outside.kill()
    os.kill(child, signal.SIGKILL)
    t.equal(done.out, f"{child} lives\n")
    t.equal(done.code, 124)


def leave_a_daemon(t, space, options):
    """It leaves the command's process group, and lives until told to end."""
    script = f"$HF run {options} a -- sh -c 'setsid sh -c \"echo >$D/up; {UNTIL_GO}\" & {UNTIL_UP}'; exit $?"
    return begin(t, space, script)


@case
def a_control_group_ends_what_proc_does_not_show(t):
    t.equal((t.finish(leave_a_daemon(t, OWN_PROC, "-q --leftovers end")).code), 0)
    t.path("up").unlink()
    begun = leave_a_daemon(t, FOREIGN_PROC, "-q --leftovers end --grace 0.2")
    t.until("it is up", t.path("up").exists)
    t.equal(t.finish(begun).code, 0)


@case
def without_one_it_is_said_and_waited_for(t):
    for options, code in (("--leftovers end --grace 0.1", 0), ("--max-run 0.1 --grace 0.1", 124)):
        for name in ("up", "go"):
            t.path(name).unlink(missing_ok=True)
        begun = leave_a_daemon(t, NO_CGROUP + FOREIGN_PROC, options)
        said = iter(lambda process=begun: process.stderr.readline().decode(), "")
        t.contains(next(said), "/proc does not show the processes of this PID namespace")
        t.true(any("cannot be ended: keeping" in line for line in said), "it names what it cannot end")
        t.equal(t.run("try", "a", "true").code, 75, "while the daemon lives")
        t.path("go").touch()
        t.equal(t.finish(begun).code, code, options)


if not permitted():
    print("1..0 # SKIP namespaces are not permitted here")
    sys.exit(77)
main()
