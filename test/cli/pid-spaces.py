#!/usr/bin/env -S python3 -B
"""pid-spaces.py - PID namespaces: the same number means another process there."""
from hf import *

OWN_PROC = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


def permitted():
    return subprocess.run([*OWN_PROC, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


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


if not permitted():
    print("1..0 # SKIP namespaces are not permitted here")
    sys.exit(77)
main()
