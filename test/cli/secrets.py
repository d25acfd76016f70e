#!/usr/bin/env -S python3 -B
"""secrets.py - a password is in nothing that we print, and in no environment or command
line of ours: however it was given, and however wrongly."""
import shlex
from hf import *

SECRET = "hunter2canary"
URLS = [  # those that could be used, were there a server, and those that make no sense
    "zk://ana:{}@127.0.0.1:1/x", "redis://:{}@127.0.0.1:1", "postgres://ana:{}@127.0.0.1:1/x",
    "postgres://127.0.0.1:1/x?user=ana&password={}", "redis+unix://ana:{}@/no/such/socket",
    "zk:ana:{}@h", "zk//ana:{}@h", "S3?{}@", "{}@h", "zk:{}@h", "zk://ana:x/{}@h", "zk://ana:x?{}@h",
    "redis:{}@h", "redis://ana:x?{}=1@h", "redis://ana:{}@h:port", "redis://ana:{}%@h", "zk://ana:{}@",
    "postgres:ana:{}@h/x", "postgres://ana:x/{}@h", "postgres://ana:{}@[::1", "postgres://h/x?{}@h",
    "foo://ana:{}@h", "FOO:{}@h", "://ana:{}@h", "sqlite://ana:{}@h/x", "sqlite:/tmp/x?password={}",
    "sqlite:/tmp/x?{}@", "zk://ana:a@b/{}@h", "zk://h?x=%zz&{}@h", "redis+sentinel://ana:{}@h",
]
VERBS = [["run", "-v", "-w", "0.1", "a", "true"], ["list"], ["doctor", "-w", "0.1"], ["doctor", "--json", "-w", "0.1"]]
if "asan" in HOLDFAST:
    del VERBS[1:3]  # a URL is read by the same code in all of them


def harmless(t, text, what):
    t.true(SECRET not in text, f"{what}: {text!r}")


def ended(t, process, what):
    """What it wrote; it is ended if it would go on trying to reach a server."""
    try:
        out, err = process.communicate(timeout=max(0.01, process.begin + 1 - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.terminate()
        out, err = process.communicate(timeout=LIMIT)
    harmless(t, (out + err).decode(errors="replace"), what)


def ways(t, url, number):
    """Every way to give it, at once: [(process, which)]"""
    path = t.path(f"url.{number}")
    path.write_text(url + "\n")
    path.chmod(0o600)
    started = [(t.start(verb[0], "--url", url, *verb[1:]), verb) for verb in VERBS]
    return [*started, (t.start("list", f"--url={url}"), "="),
            (t.start(*VERBS[0], env={"HOLDFAST_URL": url}), "environment"),
            (t.start("list", "--url-file", str(path)), "file")]


@case
def no_url_is_printed_with_its_password(t):
    for first in range(0, len(URLS), 6):
        some = [url.format(SECRET) for url in URLS[first:first + 6]]
        started = [(process, f"{way} {url}") for number, url in enumerate(some)
                   for process, way in ways(t, url, number)]
        for process, what in started:
            ended(t, process, what)


@case
def a_password_in_the_wrong_argument_is_not_printed(t):
    url = f"zk://ana:{SECRET}@127.0.0.1:1"
    for words in (["run", f"--urll={url}", "a", "true"], ["list", "a", url], [url], ["run", "-w", url, "a", "true"],
                  ["list", f"--json={url}"], ["run", "--slots", f"postgres://h?password={SECRET}", "a", "true"],
                  ["completion", url], ["show", url], ["run", url, "true"], ["help", url]):
        done = t.run(*words)
        t.true(done.code in (64, 69), f"{words}: {done.code}")
        harmless(t, done.out + done.err, words)


TEXTS = [  # with more than one URL, and what stands between them
    "postgres://h/x?a=1 postgres://h/x?password={}", "postgres://h/x?a=1,postgres://h/x?password={}",
    "'postgres://h/x?a=1' or 'postgres://h/x?sslpassword={}'", "redis://h1,redis://ana:{}@h2",
    "redis://h:1?a=1&b=2\tzk://ana:{}@h", "postgres://h/x?a=1\npostgres://h/x?b=2&password={}",
    "postgres://ana:x@h/x?a=1;postgres://h/x?password={}", "redis://ana:a'b{}@h", "postgres://h/x?password=a'b{}",
    "postgres://h/x?p%61ssword={}", "postgres://h/x?scram_client_key={}", "postgres://ana:a#{}@h/x",
    "postgres://h/x?password=a&b=1?passwd={}",
]


@case
def however_many_urls_a_text_has_none_is_printed(t):
    for number, text in enumerate(text.format(SECRET) for text in TEXTS):
        done = t.run("run", "--slots", text, "a", "true")
        t.equal(done.code, 64, text)
        harmless(t, done.out + done.err, text)
        for option in ([], ["--show-command"]):
            holder = t.hold(f"a{number}", *option, script=f"sleep 1000; : {shlex.quote(text)}")
            harmless(t, json.dumps(t.show(f"a{number}")), (option, text))
            t.end(holder)


def of_process(pid, what):
    return pathlib.Path(f"/proc/{pid}/{what}").read_bytes().decode(errors="replace")


@case
def it_is_in_no_environment(t):
    """Of holdfast, of its guardian, of the command; while it runs, and while it waits."""
    secrets = {"HOLDFAST_URL": f"{t.env['HOLDFAST_URL']}?force=1&password={SECRET}",
               "HOLDFAST_ZK_AUTH": f"ana:{SECRET}", "HOLDFAST_REDIS_AUTH": SECRET}
    url = t.env["HOLDFAST_URL"]
    holder = t.start("run", "--url", url, "a", "--", "sh", "-c", "env >$D/env.new; mv $D/env.new $D/env; sleep 1000",
                     env=secrets)
    t.until("the command runs", t.path("env").exists)
    waiter = t.start("run", "--url", url, "a", "true", env=secrets)
    t.waiting("a", 1)
    command = [pid for pid in t.processes() if "env.new" in t.processes()[pid] and pid != holder.pid]
    for pid in {holder.pid, t.guardian(holder), waiter.pid, t.guardian(waiter), *command}:
        harmless(t, of_process(pid, "environ"), f"environ of {pid}")
        harmless(t, of_process(pid, "cmdline"), f"cmdline of {pid}")
    harmless(t, t.path("env").read_text(), "the command's environment")
    t.contains(of_process(holder.pid, "environ"), "HF_CLI_CASE")  # the rest is still there
    t.end(holder)
    t.finish(waiter)
    # getenv() has it yet: the store is what the variable says.
    done = t.run("list", env=secrets)
    t.equal(done.code, 64, done.err)
    t.contains(done.err, "password")
    harmless(t, done.err, "list")


@case
def it_is_gone_from_the_command_line(t):
    for url in (f"redis://ana:{SECRET}@127.0.0.1:1", f"redis://127.0.0.1:1?password={SECRET}",
                f"redis://a:{SECRET}@127.0.0.1:1?password={SECRET}&token={SECRET}"):
        process = t.start("run", "--url", url, "a", "true")
        t.until("it is wiped", lambda: process.poll() is not None or SECRET not in of_process(process.pid, "cmdline"))
        process.kill()
        t.finish(process)


@case
def a_command_in_a_private_file_is_shown_without_it(t):
    """All else of a command line is shown there: nobody but its owner can look."""
    url = f"postgres://ana:{SECRET}@db.example/x"
    holder = t.start("run", "a", "--", "sh", "-c", "touch $D/up; sleep 1000", "sh", url, f"--url={url}", "plain")
    t.until("it runs", t.path("up").exists)
    shown = t.show("a")["holders"][0]["command"]
    for part in ("sleep 1000", "postgres://ana:", "@db.example/x", "--url=", "plain"):
        t.contains(shown, part)
    kept = b"".join(path.read_bytes() for path in t.folder.glob("locks.db*") if path.is_file())
    harmless(t, shown + kept.decode(errors="replace"), "the file")
    t.end(holder)


@case
def a_withheld_password_is_reported_as_missing(t):
    """Inside such a run, holdfast does not take another store for it."""
    withheld = {"HOLDFAST_STORE": "", "HOLDFAST_URL": None}
    for words in (["list"], ["run", "a", "true"], ["hold", "a"], ["show", "a"]):
        done = t.run(*words, env=withheld)
        t.equal(done.code, 64, done.err)
        t.one_line(done.err)
        t.contains(done.err, "--url-file")
    t.equal(t.run("list", "--url", t.env["HOLDFAST_URL"], env=withheld).code, 0)
    t.equal(t.run("list", env={"HOLDFAST_STORE": ""}).code, 0)


main()
