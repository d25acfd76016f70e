#!/usr/bin/env -S python3 -B
"""pid-1.py - as process 1 of a container holdfast inherits everybody's orphans."""
from hf import *

INNER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


def permitted():
    return subprocess.run([*INNER, "true"], stderr=subprocess.DEVNULL).returncode == 0


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def start(t, *args):
    """Returns the pid of a holdfast that is process 1 of a namespace."""
    process = subprocess.Popen([*INNER, HOLDFAST, *args], env=t.env, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.begin = time.monotonic()
    t.started.append(process)
    process.inner = t.until("it is there", lambda: children(process.pid))[0]
    return process


def stranger(t, process):
    """Leave an orphan in its namespace, and have it end."""
    flag = t.path("orphan")
    flag.unlink(missing_ok=True)
    subprocess.run(["nsenter", "-t", str(process.inner), "-p", "sh", "-c",
                    f"sh -c ': stranger; until test -e {flag}; do sleep 0.01; done' & exit 0"],
                   env=t.env, check=True)
    orphan = t.until("it has an orphan", lambda: [
        pid for pid in children(process.inner) if "stranger" in t.processes().get(pid, "")])[0]
    flag.touch()
    t.until("the orphan was reaped", lambda: not os.path.exists(f"/proc/{orphan}"), 10)


@case
def strangers_are_reaped_while_the_command_runs(t):
    process = start(t, "run", "a", "--", "sh", "-c", "echo >$D/up; read x; exit 5")
    t.until("the command is up", t.path("up").exists)
    stranger(t, process)
    t.equal(t.finish(process, data=b"end\n").code, 5)


@case
def strangers_are_reaped_while_waiting_and_holding(t):
    holder = t.hold("a")
    process = start(t, "hold", "a")
    t.waiting("a", 1)
    stranger(t, process)
    t.end(holder)
    t.until("it holds", lambda: len(t.show("a")["holders"]) == 1 and not t.show("a")["waiters"])
    stranger(t, process)
    t.equal(t.finish(process).code, 0)


@case
def a_killed_guardian_takes_no_stranger_along(t):
    """`elect` goes on after that, and so must they."""
    process = start(t, "elect", "--again", "a", "--", "sh", "-c", "echo >>$D/terms; exec sleep 1000")
    t.until("the command is up", t.path("terms").exists)
    subprocess.run(["nsenter", "-t", str(process.inner), "-p", "sh", "-c",
                    "sh -c ': stranger; while :; do sleep 0.02; done' & exit 0"], env=t.env, check=True)
    t.until("it has an orphan", lambda: "stranger" in str(
        [t.processes().get(pid, "") for pid in children(process.inner)]))
    guardian = [pid for pid in t.processes() if name_of(pid) == "hf-guardian"]
    t.equal(len(guardian), 1, "guardians")
    os.kill(guardian[0], signal.SIGKILL)
    t.until("a second term begins", lambda: t.path("terms").read_text().count("\n") == 2)
    t.contains(str([t.processes().get(pid, "") for pid in children(process.inner)]), "stranger")
    os.kill(process.inner, signal.SIGTERM)
    t.equal(t.finish(process).code, 143)


if not permitted():
    print("1..0 # SKIP namespaces are not permitted here")
    sys.exit(77)
main()
