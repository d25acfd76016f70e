#!/usr/bin/env -S python3 -B
"""libraries.py - what a server needs is loaded when a URL needs it, before there is a second
process; and what is said where it is not installed."""
import re
from hf import *

SERVERS = [  # a URL, and the library that is missed first
    ("zks://127.0.0.1:1", "libssl"),
    ("redis://127.0.0.1:1", "libhiredis"),
    ("rediss://127.0.0.1:1", "libhiredis"),
    ("redis+unix:/nowhere", "libhiredis"),
    ("redis+sentinel://127.0.0.1:1/x", "libhiredis"),
    ("postgres://127.0.0.1:1/x", "libpq"),
    ("postgresql://127.0.0.1:1/x", "libpq"),
]
HEAVY = ("libssl", "libcrypto", "libhiredis", "libpq")
OWN = [] if os.geteuid() == 0 else ["--map-root-user"]
ENTER = ["unshare", *OWN, "--mount", "sh", "-c",
         'mount --rbind /proc "$1/proc" && mount --rbind /dev "$1/dev" && shift && exec chroot "$@"', "sh"]


def bare_root(t):
    """A folder with holdfast and what it is linked with, and nothing else: how it is started there."""
    root = t.path("root")
    for folder in ("proc", "dev", "tmp"):
        (root / folder).mkdir(parents=True)
    ldd = subprocess.run(["ldd", HOLDFAST], capture_output=True, text=True, check=True).stdout
    for file in [HOLDFAST, *re.findall(r"(/\S+) \(0x", ldd)]:
        to = root / ("holdfast" if file == HOLDFAST else file[1:])
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)
    inside = [*ENTER, str(root), str(root), "/holdfast"]
    if subprocess.run([*inside, "version"], stdout=subprocess.DEVNULL).returncode != 0:
        raise Skip("mounting is not permitted")
    return inside


def run_in(t, inside, *args):
    return subprocess.run([*inside, *args], env=dict(t.env, HOLDFAST_URL="sqlite:/tmp/locks.db"),
                          capture_output=True, text=True, timeout=LIMIT)


def loaded(pid):
    """Those of HEAVY that a process has."""
    with open(f"/proc/{pid}/maps") as file:
        text = file.read()
    return [name for name in HEAVY if f"/{name}.so" in text]


@case
def stores_without_their_library_are_refused(t):
    inside = bare_root(t)
    done = run_in(t, inside, "run", "a", "--", "/holdfast", "show", "--json", "a")
    t.equal(done.returncode, 0, done.stderr)
    t.equal(len(json.loads(done.stdout)["holders"]), 1)
    built_in = run_in(t, inside, "version").stdout
    for url, library in SERVERS:
        if url.partition(":")[0] not in built_in.split():
            continue
        scheme = re.escape(url.partition(":")[0])
        for verb in (["run", "a", "--", "/holdfast", "version"], ["hold", "a"], ["list"]):
            done = run_in(t, inside, verb[0], "--url", url, *verb[1:])
            t.equal(done.returncode, 69, f"exit code of {verb[0]} with {url}")
            t.true(re.fullmatch(rf"holdfast: {scheme}: needs {library}\.so\.[0-9.]+, which is not "
                                rf"installed: install {library}[0-9.]+\n", done.stderr), done.stderr)
    done = run_in(t, inside, "list", "--url", "zk://127.0.0.1:1")
    t.lacks(done.stderr, "install")  # it needs none


def second_process(t, *args, **more):
    process = t.start(*args, "--url", "redis://127.0.0.1:1", "a", *more.pop("command", ()), **more)
    second = t.until("there is a second process", lambda: children_of(process.pid))[0]
    found = loaded(second)
    t.end(process, signal.SIGKILL)
    return found


@case
def a_guardian_has_its_libraries_from_the_start(t):
    if "redis" not in t.run("version").out.split():
        raise Skip("this build has no redis:")
    t.equal(second_process(t, "run", command=("--", "true")), ["libhiredis"], "the guardian's")
    t.equal(second_process(t, "hold", stdin=subprocess.PIPE), ["libhiredis"], "those of its session guardian")


@case
def a_file_needs_none_of_it(t):
    holder = t.hold("a")
    for pid in (holder.pid, t.guardian(holder)):
        t.equal(loaded(pid), [])
    with open(f"/proc/{t.guardian(holder)}/status") as file:
        t.contains(file.read(), "VmLck:\t       0 kB")  # there is no deadline: it may be slow
    t.end(holder)


main()
