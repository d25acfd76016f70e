#!/usr/bin/env -S python3 -B
"""system.py - the store of the whole machine: root, two members of its group, and an outsider.

It is at one place, so a test has /var/lib for itself, in a mount namespace of its own; and
user and group databases with a group holdfast in them.  That takes root."""
import ctypes
import fcntl
import sqlite3
from users import *

FILE = pathlib.Path("/var/lib/holdfast/locks.db")
GID = 20000
WAYS = ("system:", f"sqlite:{FILE}", "sqlite:/var/../var/lib/holdfast/locks.db")


def command(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def be_alone():
    """Have this process, and all that it starts, see a /var/lib and an /etc/group of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(0x20000) < 0:  # CLONE_NEWNS
        return "only root can have a mount namespace"
    done = command("mount", "--make-rprivate", "/")
    if done.returncode == 0:
        done = command("mount", "-t", "tmpfs", "-o", "mode=755", "none", "/var/lib")
    lines = {"passwd": [f"{name}:x:{number}:{number}::/nonexistent:/bin/sh"
                        for name, number in (("ana", ANA), ("ben", BEN), ("eve", EVE))],
             "group": [f"holdfast:x:{GID}:", f"many:x:{GID + 1}:" + ",".join(["somebody"] * 3000)]}
    for name, more in lines.items():
        old = [line for line in pathlib.Path(f"/etc/{name}").read_text().splitlines()
               if not line.startswith("holdfast:")]
        pathlib.Path(f"/var/lib/{name}").write_text("\n".join([*old, *more, ""]))
        if done.returncode == 0:
            done = command("mount", "--bind", f"/var/lib/{name}", f"/etc/{name}")
    return done.stdout.strip() if done.returncode != 0 else None


def clear(t):
    t.gid = GID
    need_root(t)
    shutil.rmtree(FILE.parent, ignore_errors=True)
    t.wake = FILE.with_name("locks.db-wake")


def make(t, *args):
    clear(t)
    t.env["HOLDFAST_URL"] = "system:"
    done = run(t, 0, "init", "--system", *args)
    t.equal((done.code, done.err), (0, ""), "init")


def modes():
    return {path.name: (oct(path.lstat().st_mode & 0o7777), path.lstat().st_uid, path.lstat().st_gid)
            for path in [FILE.parent, *FILE.parent.iterdir()]}


def refused(t, done, *words, code=69):
    t.equal((done.code, done.out), (code, ""), done.err)
    t.one_line(done.err)
    for word in words:
        t.contains(done.err, word)


# ---- Making it


@case
def root_makes_it_and_nobody_else(t):
    clear(t)
    for user in (ANA, 0):
        for args in (["run", "--system", "a", "true"], ["list", "--system"], ["try", "a", "true"],
                     ["hold", "--url", f"sqlite:{FILE}", "a"]):
            refused(t, run(t, user, *args, env={"HOLDFAST_URL": "system:"}),
                    "sudo holdfast init --system")
    done = run(t, 0, "doctor", "--system")
    t.equal(done.code, 69)
    t.contains(done.out, "sudo holdfast init --system")
    refused(t, run(t, ANA, "init", "--system"), "sudo holdfast init --system")
    refused(t, run(t, 0, "init", "--system", "--group", "nobodys"), "groupadd --system nobodys")
    t.true(not FILE.parent.exists(), "it was made")


@case
def it_is_made_once(t):
    clear(t)
    for umask in (0, 0o077, 0o777):
        shutil.rmtree(FILE.parent, ignore_errors=True)
        if umask == 0:
            FILE.parent.mkdir(0o755)  # as a package may bring it
        for again in range(2):
            done = run(t, 0, "init", "--system", umask=umask)
            t.equal((done.code, done.out, done.err),
                    (0, f"system: {FILE} exists, for root and the members of group holdfast\n", ""))
            t.equal(modes(), {"holdfast": ("0o750", 0, GID), "locks.db-wake": ("0o2770", 0, GID),
                              **{f"locks.db{end}": ("0o660", 0, GID)
                                 for end in ("", "-wal", "-shm", "-live")}}, f"{umask:o} {again}")
    before = modes()
    refused(t, run(t, 0, "init", "--system", "--group", "daemon"),
            "is of group holdfast, and not of group daemon")
    t.equal(modes(), before)
    shutil.rmtree(FILE.parent)
    t.contains(run(t, 0, "init", "--system", "--group", "daemon").out, "group daemon\n")
    t.contains(run(t, 0, "init", "--system").out, "group daemon\n")
    shutil.rmtree(FILE.parent)
    t.contains(run(t, 0, "init", "--system", "--group", "many").out, "group many\n")
    refused(t, run(t, EVE, "list", "--system"), "group many")


@case
def init_puts_it_right(t):
    make(t)
    good = modes()
    wrong = ((lambda: FILE.parent.chmod(0o2770), "/var/lib/holdfast "),
             (lambda: FILE.parent.chmod(0o755), "/var/lib/holdfast "),
             (lambda: os.chown(FILE.parent, ANA, GID), "/var/lib/holdfast "),
             (lambda: os.chown(FILE, BEN, GID), "locks.db "),
             (lambda: FILE.with_name("locks.db-live").unlink(), "locks.db-live "),
             (lambda: shutil.rmtree(t.wake), "locks.db-wake "),
             (FILE.unlink, "locks.db "))
    for spoil, names in wrong:
        spoil()
        for user in (ANA, 0):
            refused(t, run(t, user, "run", "a", "true"), names, "sudo holdfast init --system")
        t.equal(run(t, 0, "init", "--system").code, 0, names)
        t.equal(modes(), good, names)
        t.equal(run(t, ANA, "run", "a", "true").code, 0, names)
    FILE.with_name("locks.db-journal").symlink_to("/etc/passwd")
    FILE.with_name("locks.db-live").rename(FILE.with_name("x"))
    FILE.with_name("locks.db-live").symlink_to("x")
    refused(t, run(t, 0, "init", "--system"), "locks.db-live ", "move it away")
    make(t)


@case
def init_clears_away_what_a_killed_one_left(t):
    make(t)
    good = modes()
    old, young, folder = (FILE.with_name(f"locks.db-{name}") for name in ("new-1", "new-2", "wake-new-3"))
    old.touch()
    young.touch()
    folder.mkdir()
    for path in (old, folder):
        os.utime(path, (0, 0))
    os.link(FILE.with_name("locks.db-live"), FILE.with_name("locks.db-live-new-4"))
    done = run(t, 0, "init", "--system")
    t.equal(done.code, 0, done.err)
    young.unlink()  # it might be that of another init, at work now
    t.equal(modes(), good)


@case
def options_that_exclude_each_other(t):
    t.env["HOLDFAST_URL"] = f"sqlite:{t.path('x.db')}"
    for args in (["list", "--system", "--url", "memory:x"], ["list", "--url", "memory:x", "--system"],
                 ["run", "--system", "--url-file", "/etc/hostname", "a", "true"],
                 ["init", "--group", "daemon"], ["init", "--system", "--group", ""],
                 ["list", "--url", "system:/elsewhere"]):
        refused(t, t.run(*args), code=64)


# ---- Using it


@case
def all_users_and_all_its_names_are_one_store(t):
    make(t)
    for user, way in ((0, WAYS[0]), (ANA, WAYS[1]), (BEN, WAYS[2])):
        holder = hold(t, user, "a", env={"HOLDFAST_URL": way})
        for other in (0, ANA, BEN):
            for url in WAYS:
                t.equal(run(t, other, "try", "--url", url, "a", "true").code, 75, (other, url))
            t.equal(run(t, other, "try", "--system", "b", "true").code, 0, other)
        t.end(holder)
    inside = run(t, ANA, "run", "--system", "a", "--", "sh", "-c", "$HF check && echo $HOLDFAST_URL")
    t.equal((inside.code, inside.out), (0, "system:\n"), inside.err)


@case
def as_cron_and_login_have_it(t):
    """Without a home or any variable; the group as the user's own, or one of several."""
    make(t)
    bare = {"env": {}, "umask": 0o022, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    for more in ({"group": GID, "extra_groups": []}, {"group": ANA, "extra_groups": [4, GID]}):
        holder = hold(t, 0, "nightly")
        args = [HOLDFAST, "run", "-n", "--system", "nightly", "--", "/bin/true"]
        t.equal(subprocess.run(args, user=ANA, stderr=subprocess.PIPE, **bare, **more).returncode, 75)
        t.end(holder)
        t.equal(subprocess.run(args, user=ANA, stderr=subprocess.PIPE, **bare, **more).returncode, 0)


@case
def kill_root_and_each_member(t):
    make(t)
    before = modes()
    kills(t, ((ANA, BEN), (BEN, 0), (0, ANA), (0, BEN), (BEN, ANA), (ANA, 0)))
    t.equal(modes(), before)


@case
def an_outsider_is_told(t):
    make(t)
    words = ("group holdfast", "you are not in", "usermod -aG holdfast eve", "log in again")
    for url in WAYS:
        refused(t, run(t, EVE, "run", "--url", url, "a", "true"), *words)
        refused(t, run(t, EVE, "list", "--url", url), *words)
    done = run(t, EVE, "doctor", "--system")
    t.equal(done.code, 69)
    for word in words:
        t.contains(done.out, word)


@case
def of_commands_others_see_the_name(t):
    make(t)
    holder = start(t, ANA, "run", "a", "--", "sh", "-c", "echo on; exec sleep 1000", "-psesame")
    t.equal(holder.stdout.readline(), b"on\n")
    for user in (BEN, 0, ANA):
        t.equal(json.loads(run(t, user, "show", "--json", "a").out)["holders"][0]["command"], "sh")
        t.lacks(run(t, user, "list", "--json").out, "sesame")
    t.lacks(FILE.with_name("locks.db-wal").read_bytes().decode("latin-1"), "sesame")
    t.end(holder)


@case
def a_stopped_holder_keeps_its_place(t):
    make(t)
    holder = hold(t, ANA, "a")
    waiter = start(t, BEN, "run", "a", "--", "true")
    t.waiting("a", 1)
    last = start(t, ANA, "run", "a", "--", "echo", "mine")
    t.waiting("a", 2)
    for process in (holder, waiter):
        process.send_signal(signal.SIGSTOP)
    t.equal(run(t, BEN, "try", "a", "true").code, 75)
    holder.send_signal(signal.SIGCONT)
    t.equal(t.end(holder).code, 143)
    t.until("it is the stopped one's turn", lambda: len(t.show("a")["waiters"]) == 1)
    t.equal(t.show("a")["holders"][0]["pid"], waiter.pid)
    waiter.kill()
    waiter.wait()
    done = t.finish(last)
    t.equal((done.code, done.out), (0, "mine\n"), done.err)


# ---- What a member can and cannot do to the others


@case
def a_member_replaces_no_file(t):
    make(t)

    def try_all():
        for path in (str(path) for path in [FILE.parent, *FILE.parent.iterdir()]):
            for attempt in (lambda: os.unlink(path), lambda: os.rename(path, path + "-x"),
                            lambda: os.symlink("/etc/passwd", path + "-journal"),
                            lambda: os.link(path, path + "-y"), lambda: os.mkdir(path + "-z"),
                            lambda: os.chmod(path, 0o666), lambda: os.rmdir(path)):
                try:
                    attempt()
                    os._exit(1)  # it was permitted
                except PermissionError:
                    pass
                except IsADirectoryError:
                    pass
                except NotADirectoryError:
                    pass
        return True

    before = modes()
    with Member(t, try_all):
        t.equal(modes(), before)


@case
def a_member_keeps_the_write_lock(t):
    make(t)

    def shut():
        file = open(f"{FILE}-live", "r+")
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    with Member(t, shut) as member:
        refused(t, run(t, BEN, "try", "a", "true"), "is not answering")
        doctor = run(t, BEN, "doctor")
        t.equal(doctor.code, 78, doctor.out)
        t.contains(doctor.out, "FAULT  write lock")
        t.contains(doctor.out, f"(pid {member.pid}, ana)")
        waiter = start(t, BEN, "run", "a", "--", "echo", "mine")
    t.equal(t.finish(waiter).out, "mine\n")


def connect(statement):
    """The database, by hand, after a statement."""
    database = sqlite3.connect(FILE, isolation_level=None)
    database.execute(statement).fetchall()
    return database


@case
def a_member_has_a_transaction_open(t):
    make(t)
    with Member(t, lambda: connect("BEGIN IMMEDIATE")) as member:
        refused(t, run(t, BEN, "try", "a", "true"), "is locked by another program")
        doctor = run(t, BEN, "doctor")
        t.equal(doctor.code, 78, doctor.out)
        t.contains(doctor.out, "is locked by another program")
        t.contains(doctor.out, f"(pid {member.pid}, ana)")
        waiter = start(t, BEN, "run", "a", "--", "echo", "mine")
    t.equal(t.finish(waiter).out, "mine\n")


@case
def a_member_with_sqlite_removes_no_file(t):
    """SQLite removes its log when the last one closes the file; a member cannot."""
    make(t)
    t.equal(run(t, BEN, "run", "a", "true").code, 0)

    def look():
        connect("SELECT * FROM place").close()
        return True

    with Member(t, look):
        t.equal(run(t, BEN, "run", "a", "true").code, 0)


@case
def files_that_sqlite_removes_for_root_are_made_again(t):
    make(t)
    good = modes()
    connect("SELECT * FROM place").close()
    t.true(not FILE.with_name("locks.db-wal").exists(), "SQLite has left the log")
    refused(t, run(t, ANA, "run", "a", "true"), "locks.db-wal is missing", "sudo holdfast init --system")
    t.equal(run(t, 0, "run", "a", "true").code, 0)
    t.equal(modes(), good)
    t.equal(run(t, ANA, "run", "a", "true").code, 0)


@case
def no_file_is_removed_for_a_member(t):
    """A folder that was the group's becomes the machine's: a journal that the member made is in it."""
    make(t)
    FILE.parent.chmod(0o2770)
    victim = t.path("precious")
    victim.write_text("of root")
    with Member(t, lambda: put_journal(FILE, victim)):
        for args in (["init", "--system"], ["run", "a", "true"]):
            refused(t, run(t, 0, *args), f"{FILE}-journal exists")
    t.true(victim.exists(), "it is gone")
    FILE.with_name("locks.db-journal").unlink()
    t.equal(run(t, ANA, "run", "a", "true").code, 0)


@case
def a_member_takes_the_log_away(t):
    """By the header of the database, as far as that works.  The log comes back without a journal."""
    make(t)

    def undo():
        connect("PRAGMA wal_checkpoint(TRUNCATE)").close()
        file = open(FILE, "r+b")
        os.pwrite(file.fileno(), b"\1\1", 18)
        return file

    for user in (BEN, 0):
        with Member(t, undo):
            t.equal(run(t, user, "run", "a", "true").code, 0)
        t.equal(FILE.read_bytes()[18:20], b"\2\2")
    t.equal(run(t, ANA, "run", "a", "true").code, 0)


reason = be_alone()
if reason:
    print(f"1..0 # SKIP {reason}")
    sys.exit(77)
main()
