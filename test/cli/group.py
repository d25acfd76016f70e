#!/usr/bin/env -S python3 -B
"""group.py - a file that a group shares: two of its members, root, and an outsider.

They are real users, by their numbers; that takes root."""
import grp
import sqlite3
import stat
from users import *

GROUP = "daemon"  # any that is there; only its name matters
GID = grp.getgrnam(GROUP).gr_gid


def prepare(t):
    t.gid = GID
    need_root(t)
    t.file = t.path("shared/locks.db")
    t.wake = t.path("shared/locks.db-wake")
    t.env["HOLDFAST_URL"] = f"sqlite:{t.file}"


def make(t, user=0):
    """Have it made; afterwards nobody has to speak of the group."""
    prepare(t)
    if user != 0:
        t.folder.chmod(0o1777)
    done = run(t, user, "init", "--url", f"sqlite:{t.file}?group={GROUP}")
    t.equal((done.code, done.err), (0, ""), "init")


def modes(t):
    """{name: (mode, gid)} of everything there is; FIFOs as one."""
    found = {}
    for path in [t.file.parent, *t.file.parent.rglob("*")]:
        name = "fifo" if stat.S_ISFIFO(path.lstat().st_mode) else path.name
        found[name] = (oct(path.lstat().st_mode & 0o7777), path.lstat().st_gid)
    return found


@case
def files_belong_to_the_group_whoever_creates_them(t):
    prepare(t)
    for number, (user, umask) in enumerate(((0, 0o077), (0, 0), (ANA, 0o777), (BEN, 0o022))):
        t.folder.chmod(0o1777)
        t.file = t.path(f"{number}/locks.db")
        t.env["HOLDFAST_URL"] = f"sqlite:{t.file}?group={GROUP}"
        process = hold(t, user, "a", umask=umask)
        t.equal(modes(t), {f"{number}": ("0o2770", GID), "locks.db": ("0o660", GID),
                           "locks.db-wal": ("0o660", GID), "locks.db-shm": ("0o660", GID),
                           "locks.db-live": ("0o660", GID), "locks.db-wake": ("0o2770", GID),
                           "fifo": ("0o660", GID)}, f"{user} {umask:o}")
        for other in (0, ANA, BEN):
            t.equal(run(t, other, "try", "a", "true").code, 75, other)
            t.equal(run(t, other, "try", "b", "true").code, 0, other)
        t.equal(t.end(process).code, 143)


@case
def members_and_root_wait_for_each_other(t):
    make(t)
    line = (ANA, BEN, 0, BEN, ANA)
    queue = []
    for place, user in enumerate(line):
        queue.append(start(t, user, "run", "a", "--", "sh", "-c", "echo on; exec sleep 1000"))
        if place > 0:
            t.waiting("a", place)
        else:
            t.equal(queue[0].stdout.readline(), b"on\n")
    for place, process in enumerate(queue):
        if place > 0:
            t.equal(process.stdout.readline(), b"on\n")
        doctor = run(t, BEN, "doctor")
        t.equal(doctor.code, 0, doctor.out)
        t.contains(doctor.out, f"shared with group {GROUP}")
        t.lacks(doctor.out, "warn")
        t.end(process)


@case
def the_locks_of_a_killed_member_are_free(t):
    make(t, ANA)
    kills(t, ((ANA, BEN), (BEN, 0), (0, ANA), (BEN, ANA)))


@case
def members_may_ask_and_break(t):
    make(t, BEN)
    holder = hold(t, ANA, "a")
    t.equal(run(t, BEN, "ask", "a").code, 0)
    t.equal(run(t, BEN, "break", "--yes", "a").code, 0)
    t.equal(t.finish(holder).code, 79)
    t.equal(run(t, 0, "try", "a", "true").code, 0)


@case
def nobody_else_gets_in(t):
    make(t)
    for args in (["run", "a", "true"], ["list"], ["doctor"]):
        for url in (f"sqlite:{t.file}", f"sqlite:{t.file}?group={GROUP}"):
            done = run(t, EVE, args[0], "--url", url, *args[1:])
            t.equal(done.code, 69, done.out)
            t.contains(done.out + done.err, f"group {GROUP}")
            t.contains(done.out + done.err, "you are not in")
    done = run(t, BEN, "list", "--url", f"sqlite:{t.file}?group=no-such-group")
    t.equal(done.code, 64)
    t.contains(done.err, "no-such-group")
    done = run(t, 0, "list", "--url", f"sqlite:{t.file}?group=bin")
    t.equal(done.code, 69)
    t.contains(done.err, f"is of group {GROUP}, and not of group bin")


@case
def a_store_is_shared_only_with_the_group_parameter(t):
    prepare(t)
    folder = t.file.parent
    folder.mkdir()
    os.chown(folder, 0, GID)
    folder.chmod(0o2770)
    done = run(t, ANA, "run", "a", "true")
    t.equal(done.code, 69)
    t.contains(done.err, f"?group={GROUP}")
    t.equal(list(folder.iterdir()), [], "files")
    folder.chmod(0o770)
    url = f"sqlite:{t.file}?group={GROUP}"
    done = run(t, ANA, "run", "--url", url, "a", "true")
    t.contains(done.err, "chmod 2770")
    folder.chmod(0o755)
    done = run(t, ANA, "run", "--url", url, "a", "true")
    t.contains(done.err, "chmod 2770")
    folder.chmod(0o2770)
    t.equal(run(t, ANA, "run", "--url", url, "a", "true").code, 0)
    t.equal(run(t, BEN, "run", "a", "true").code, 0)


@case
def a_private_file_stays_private(t):
    prepare(t)
    t.file.parent.mkdir()
    os.chown(t.file.parent, ANA, ANA)
    t.equal(run(t, ANA, "run", "a", "true").code, 0)
    for user, says in ((BEN, "another user"), (0, "another user")):
        t.file.parent.chmod(0o755)
        done = run(t, user, "run", "a", "true")
        t.equal(done.code, 69)
        t.contains(done.err, says)
    done = run(t, ANA, "run", "--url", f"sqlite:{t.file}?group={GROUP}", "a", "true")
    t.equal(done.code, 69)
    t.contains(done.err, "is not a group's folder")
    t.file.parent.chmod(0o700)
    t.env["HOLDFAST_URL"] = f"sqlite:{t.path('x.db')}"


@case
def files_of_others_in_a_sticky_folder_are_refused(t):
    prepare(t)
    t.file.parent.mkdir()
    t.file.parent.chmod(0o1777)
    for ending in ("", "-wal", "-shm", "-journal", "-live", "-wake"):
        path = pathlib.Path(f"{t.file}{ending}")
        path.mkdir() if ending == "-wake" else path.touch()
        path.chmod(0o777 if ending == "-wake" else 0o666)
        os.chown(path, EVE, EVE)
        for args in (["run", "a", "true"], ["list"], ["doctor"]):
            done = run(t, ANA, *args)
            t.equal(done.code, 69, done.out + done.err)
            t.contains(done.out + done.err, f"{path} ")
        path.rmdir() if ending == "-wake" else path.unlink()
    t.equal(run(t, ANA, "run", "a", "true").code, 0)
    t.equal(run(t, ANA, "doctor").code, 0)
    t.env["HOLDFAST_URL"] = f"sqlite:{t.path('x.db')}"


def command_of(t, user, viewer):
    """What one user sees of the other's command."""
    t.path("up").unlink(missing_ok=True)
    t.folder.chmod(0o1777)
    holder = start(t, user, "run", "-q", "job", "--", "sh", "-c", "echo >$D/up; exec sleep 1000", "-psesame")
    t.until("it is up", t.path("up").exists)
    shown = json.loads(run(t, viewer, "show", "--json", "job").out)["holders"][0]["command"]
    t.end(holder)
    return shown


@case
def others_see_only_the_name_of_a_command(t):
    make(t)
    t.equal(command_of(t, ANA, BEN), "sh")
    t.contains(run(t, BEN, "doctor").out, "others can read this store")


@case
def no_file_is_removed_for_a_member(t):
    make(t)
    t.folder.chmod(0o755)
    for victim in (t.path("precious"), t.path("fifo")):
        os.mkfifo(victim, 0o600) if victim.name == "fifo" else victim.write_text("of root")
        with Member(t, lambda: put_journal(t.file, victim)):
            for args in (["run", "a", "true"], ["list"], ["doctor"]):
                done = run(t, 0, *args)
                t.equal(done.code, 69, done.out + done.err)
                t.contains(done.out + done.err, f"{t.file}-journal exists")
        t.true(victim.exists(), f"{victim} is gone")
        t.file.with_name("locks.db-journal").unlink()
        t.equal(run(t, 0, "run", "a", "true").code, 0)


@case
def sql_that_a_member_planted_is_not_run(t):
    make(t)

    def plant():
        database = sqlite3.connect(t.file, isolation_level=None)
        database.execute("CREATE TRIGGER x BEFORE INSERT ON place BEGIN SELECT RAISE(ABORT, 'no'); END")
        return database

    with Member(t, plant):
        done = run(t, 0, "run", "a", "true")
        t.equal(done.code, 0, done.err)


main()
