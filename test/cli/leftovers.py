#!/usr/bin/env -S python3 -B
"""leftovers.py - processes that outlive the command: --leftovers, and who learns of them."""
import re
import select
from hf import *

# A daemon in a session of its own, as gpg starts gpg-agent.  It ends when $D/go is there.
DAEMON = "until test -e $D/go; do sleep 0.02; done"
STUBBORN = "trap '' TERM; "


def start(t, *options, first="", **more):
    """A command that has ended with 6 and left a daemon; returns when it has."""
    t.path("daemon").write_text(f"{first}echo $$ >$D/up.new; mv $D/up.new $D/up; {DAEMON}\n")
    script = ("setsid sh $D/daemon </dev/null >/dev/null 2>&1 & "
              "until test -e $D/up; do sleep 0.01; done; echo done; exit 6")
    process = t.start("run", *options, "a", "--", "sh", "-c", script, **more)
    t.until("the daemon is up", t.path("up").exists)
    process.daemon = int(t.path("up").read_text())
    return process


def line(t, process):
    t.true(select.select([process.stderr], [], [], 20)[0], "nothing was said")
    return process.stderr.readline().decode()


@case
def wait_keeps_the_lock_and_says_so_even_quietly(t):
    for options in ([], ["-q"], ["-q", "--leftovers", "wait"]):
        holder = start(t, *options)
        said = line(t, holder)
        t.contains(said, f"(pid {holder.daemon})")
        t.contains(said, 'keeping "a"')
        t.contains(said, "--leftovers")
        t.equal(t.run("try", "a", "true").code, 75)
        t.path("go").touch()
        t.equal(t.finish(holder).code, 6)
        t.path("go").unlink()
        t.path("up").unlink()


@case
def waiters_learn_of_leftovers_even_quietly(t):
    """As on the second night in a crontab."""
    holder = start(t, "-q")
    line(t, holder)
    for options in (["-n"], ["-w", "0.1"]):
        done = t.run("run", *options, "-q", "-E", "0", "a", "--", "echo", "no")
        t.equal((done.code, done.out), (0, ""))
        t.one_line(done.err)
        t.true(re.search(rf"held by .*\bsh \(pid {holder.daemon}\).*, left \d+s ago by sh -c", done.err),
               done.err)
    waiter = t.start("run", "a", "--", "true")
    t.contains(line(t, waiter), f"(pid {holder.daemon})")
    t.path("go").touch()
    t.equal((t.finish(holder).code, t.finish(waiter).code), (6, 0))
    other = t.hold("a")
    t.equal(t.run("run", "-n", "-q", "a", "true").err, "", "a command that runs")
    t.end(other)


@case
def show_and_list_name_leftovers_and_since_when(t):
    begin = time.time()
    holder = start(t)
    line(t, holder)
    for verb in (["show", "a"], ["list"]):
        t.true(re.search(rf"left \d+s ago: sh \(pid {holder.daemon}\)", t.run(*verb).out),
               t.run(*verb).out)
    left = t.show("a")["holders"][0]["left"]
    t.true(left["count"] >= 1, "count")
    t.equal(left["processes"][0], {"pid": holder.daemon, "name": "sh"})
    since = time.mktime(time.strptime(left["since"][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
    t.true(begin - 2 < since < time.time() + 2, f"since {left['since']}")
    t.path("go").touch()
    t.equal(t.finish(holder).code, 6)
    other = t.hold("a")
    t.lacks(t.run("show", "a").out, "left")
    t.true("left" not in t.show("a")["holders"][0], "left, in JSON")
    t.end(other)


def reads(t, *args):
    """How often holdfast read from a file, with these arguments."""
    process = t.start(*args, stdout=subprocess.DEVNULL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with open(f"/proc/{process.pid}/io") as file:
        count = dict(line.split(": ") for line in file)["syscr"]
    t.equal(t.finish(process).code, 0)
    return int(count)


@case
def proc_is_read_once_for_all_places(t):
    verbs = (["show", "a"], ["show", "--json", "a"])
    holders = [start(t, "-s")]
    line(t, holders[0])
    one = [reads(t, *verb) for verb in verbs]
    for _ in range(5):
        t.path("up").unlink()
        holders.append(start(t, "-s"))
        line(t, holders[-1])
    t.equal(t.run("show", "a").out.count(" ago: sh (pid"), 6)
    walk = len(glob.glob("/proc/[0-9]*"))
    for verb, before in zip(verbs, one):
        more = reads(t, *verb) - before
        t.true(more < 5 * walk / 2, f"{more} reads for five more places, {walk} processes: {verb}")
    t.path("go").touch()
    for holder in holders:
        t.equal(t.finish(holder).code, 6)


@case
def show_names_leftovers_below_an_outer_guardian(t):
    t.path("daemon").write_text(f"echo $$ >$D/up.new; mv $D/up.new $D/up; {DAEMON}\n")
    script = ('sleep 1000 & exec "$HF" run a -- sh -c "setsid sh $D/daemon >/dev/null 2>&1 & '
              'until test -e $D/up; do sleep 0.01; done"')
    process = subprocess.Popen(["sh", "-c", script], env=t.env, stderr=subprocess.PIPE)
    t.started.append(process)
    t.contains(line(t, process), "keeping")
    t.contains(t.run("show", "a").out, f"(pid {t.path('up').read_text().strip()})")
    t.path("go").touch()
    t.equal(process.wait(LIMIT), 0)
    for pid in t.processes():
        os.kill(pid, signal.SIGKILL)


@case
def end_ends_them_and_releases_the_lock(t):
    holder = start(t, "--leftovers", "end")
    done = t.finish(holder)
    t.equal((done.code, done.out), (6, "done\n"))
    t.one_line(done.err)
    t.contains(done.err, f"ending what it left: sh (pid {holder.daemon})")
    t.equal(state_of(holder.daemon), "X", "the daemon")
    t.equal(t.run("try", "a", "echo", "mine").out, "mine\n")
    t.path("up").unlink()
    t.equal(t.finish(start(t, "-q", "--leftovers", "end")).err, "")


@case
def end_kills_those_that_do_not_obey_after_the_grace(t):
    holder = start(t, "-q", "--leftovers", "end", "--grace", "300ms", first=STUBBORN)
    done = t.finish(holder)
    t.equal((done.code, done.err), (6, ""))
    t.true(done.seconds >= 0.3, "it had no grace")
    t.equal(state_of(holder.daemon), "X", "the daemon")


@case
def nobody_has_the_lock_while_they_are_being_ended(t):
    holder = start(t, "-q", "--leftovers", "end", "--grace", "1h", first=STUBBORN)
    t.until("the command has ended", lambda: "left" in t.show("a")["holders"][0])
    t.equal(t.run("try", "a", "true").code, 75)
    t.end(holder, signal.SIGKILL)
    t.until("the daemon was ended", lambda: state_of(holder.daemon) == "X")


@case
def leave_lets_them_go_on_without_the_lock(t):
    holder = start(t, "--leftovers", "leave")
    done = t.finish(holder)
    t.equal((done.code, done.out, done.err), (6, "done\n", ""))
    t.true(state_of(holder.daemon) not in "ZX", "the daemon was ended")
    t.equal(t.run("try", "a", "echo", "mine").out, "mine\n")
    with open(f"/proc/{holder.daemon}/cgroup") as file:
        t.lacks(file.read(), "holdfast-")
    t.path("go").touch()


@case
def leave_still_ends_all_when_the_lock_is_lost(t):
    """While the command runs, nothing of it may outlive the lock."""
    for how in ("break", "kill"):
        for name in ("up", "go"):
            t.path(name).unlink(missing_ok=True)
        t.path("daemon").write_text(f"echo $$ >$D/up.new; mv $D/up.new $D/up; {DAEMON}\n")
        holder = t.start("run", "--leftovers", "leave", "a", "--", "sh", "-c",
                         "setsid sh $D/daemon >/dev/null 2>&1 & sleep 1000")
        t.until("the daemon is up", t.path("up").exists)
        if how == "break":
            t.equal(t.run("break", "-y", "a").code, 0)
        else:
            holder.kill()
        t.equal(t.finish(holder).code, 79 if how == "break" else -9)
        t.until("nothing is left", lambda: not t.processes())


@case
def elect_leaves_them_too_and_goes_on(t):
    t.path("daemon").write_text(f"echo $$ >>$D/daemons; {DAEMON}\n")
    t.path("daemons").touch()
    leader = t.start("elect", "--again", "-q", "--leftovers", "leave", "a", "--", "sh", "-c",
                     "n=$(cat $D/daemons | wc -l); setsid sh $D/daemon >/dev/null 2>&1 & "
                     "until test $(cat $D/daemons | wc -l) -gt $n; do sleep 0.01; done")
    t.until("it led three times", lambda: t.path("daemons").read_text().count("\n") >= 3)
    leader.send_signal(signal.SIGTERM)
    t.finish(leader)
    for pid in t.path("daemons").read_text().split()[:2]:
        t.true(state_of(pid) not in "ZX", "a daemon was ended")
    t.path("go").touch()


@case
def nonsense_is_refused(t):
    done = t.run("run", "--leftovers", "kill", "a", "true")
    t.equal(done.code, 64)
    t.contains(done.err, "wait, end or leave")


main()
