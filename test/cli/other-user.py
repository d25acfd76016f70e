#!/usr/bin/env -S python3 -B
"""other-user.py - a command that has become another user's cannot be ended, and Holdfast
does not say that it was."""
import select
from hf import *

USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]


def become_root(t):
    """A program that makes its command root's, as sudo does."""
    shutil.copy(shutil.which("setpriv"), t.path("rise"))
    os.chmod(t.path("rise"), 0o4755)
    t.folder.chmod(0o755)
    t.path("store").mkdir()
    os.chown(t.path("store"), 65534, 65534)
    return [str(t.path("rise")), "--reuid", "0", "--clear-groups", "--"]


def env_of(t):
    return dict(t.env, HOLDFAST_URL=getattr(t, "url", f"sqlite:{t.folder}/store/locks.db"))


def start(t, name, *command):
    process = subprocess.Popen([*USER, HOLDFAST, "run", name, "--", *command], env=env_of(t),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    process.begin = time.monotonic()
    t.started.append(process)
    return process


def user_run(t, *args):
    return subprocess.run([*USER, HOLDFAST, *args], env=env_of(t), capture_output=True, text=True,
                          timeout=LIMIT)


def hold_as_root(t):
    holder = start(t, "a", *become_root(t), "sh", "-c", "exec 2>/dev/null;"
                   "echo $$ >$D/up.new; mv $D/up.new $D/up; until test -e $D/go; do sleep 0.02; done")
    t.until("the command is up", t.path("up").exists)
    return holder, int(t.path("up").read_text())


def is_told(t, holder, command, *words):
    t.true(select.select([holder.stderr], [], [], 20)[0], "nothing was said")
    line = holder.stderr.readline().decode()
    for word in (*words, f"(pid {command}, uid 0)", "cannot be ended"):
        t.contains(line, word)
    t.true(state_of(command) not in "ZX", "it was ended")


@case
def a_broken_lock(t):
    holder, command = hold_as_root(t)
    t.equal(user_run(t, "break", "-y", "a").returncode, 0)
    is_told(t, holder, command, '"a" was lost')
    t.equal(user_run(t, "run", "a", "echo", "next").stdout, "next\n")
    t.path("go").touch()
    done = t.finish(holder)
    t.equal(done.code, 79)
    t.one_line(done.err)
    t.contains(done.err, "some of its processes could not be ended")
    t.lacks(done.err, "was ended")


@case
def a_killed_guardian(t):
    """Nobody else has the lock as long as the command is there."""
    holder, command = hold_as_root(t)
    os.kill(t.guardian(holder), signal.SIGKILL)
    is_told(t, holder, command, 'keeping "a"')
    t.equal(user_run(t, "run", "-w", "0.3", "a", "true").returncode, 75)
    t.path("go").touch()
    done = t.finish(holder)
    t.equal(done.code, 79)
    t.contains(done.err, "some of its processes could not be ended")


@case
def a_killed_guardian_and_a_lease(t):
    """The lock is renewed for as long as the command is there."""
    with a_redis(t) as server:
        t.url = f"redis://{server.address}?ttl=1s"
        t.equal(user_run(t, "run", "-w", "20", "settle", "true").returncode, 0)  # it is young
        holder, command = hold_as_root(t)
        os.kill(t.guardian(holder), signal.SIGKILL)
        is_told(t, holder, command, 'keeping "a"')
        t.equal(user_run(t, "run", "-w", "2.5", "a", "true").returncode, 75, "after two leases")
        t.path("go").touch()
        t.equal(t.finish(holder).code, 79)
        t.equal(user_run(t, "run", "-w", "20", "a", "echo", "next").stdout, "next\n")


@case
def a_killed_holdfast(t):
    holder, command = hold_as_root(t)
    holder.kill()
    holder.wait(LIMIT)
    t.equal(user_run(t, "run", "-w", "0.3", "a", "true").returncode, 75)
    t.path("go").touch()
    t.equal(user_run(t, "run", "-w", "20", "a", "echo", "next").stdout, "next\n")


if os.geteuid() != 0 or not shutil.which("setpriv"):
    print("1..0 # SKIP this needs root and setpriv")
    sys.exit(77)
main()
