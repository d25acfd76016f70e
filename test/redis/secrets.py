#!/usr/bin/env -S python3 -B
"""secrets - on a server, which others share: of a command its name alone, and a password
nowhere, neither in what we print nor in what the server keeps."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build"))
os.environ.setdefault("HOLDFAST", str(BUILD / "holdfast"))
sys.path[:0] = [str(ROOT / "test/cli"), str(ROOT / "test/server")]
import hf  # noqa: E402
import redis  # noqa: E402
from hf import case  # noqa: E402

PASSWORD = "hunter2canary"  # of the server
SECRET = "sesame4canary"  # of the command
WORDS = [f"-p{SECRET}", "-u", f"u:{SECRET}", f"Bearer {SECRET}", "--passphrase", SECRET, f"DB_PASS={SECRET}"]
server = None


def use(t):
    t.env["HOLDFAST_URL"] = f"redis://:{PASSWORD}@{server.address}?ttl=5s"


def kept():
    """All that is on the server, as text."""
    with server.client() as link:
        keys = link.call("KEYS", "*")
        return repr([(key, link.call("DUMP", key)) for key in keys])


def printed(t, name):
    """All that our verbs say of a lock, as -v does."""
    watch = t.start("watch", name)
    text = watch.stdout.readline().decode()
    t.end(watch)
    for words in (["list"], ["list", "--json"], ["show", name], ["show", "--json", name], ["try", name, "true"],
                  ["run", "-w", "0.6", name, "true"], ["break", name], ["doctor"], ["doctor", "--json", name]):
        done = t.run(words[0], *(["-v"] if words[0] != "break" else []), *words[1:])
        text += done.out + done.err
    return text


@case
def of_a_command_its_name_alone(t):
    use(t)
    holder = t.start("run", "-v", "job", "--", "/bin/sh", "-c", "echo >$D/up; sleep 1000", *WORDS)
    t.until("it is up", t.path("up").exists)
    t.equal(t.show("job")["holders"][0]["command"], "sh")
    text = printed(t, "job") + kept()
    for secret in (SECRET, PASSWORD):
        t.true(secret not in text, f"{secret} is in {text}")
    t.contains(t.run("doctor").out, "others can look at this store")
    done = t.end(holder)
    t.true(SECRET not in done.err and PASSWORD not in done.err, done.err)


@case
def more_if_that_is_asked_for(t):
    use(t)
    holder = t.start("run", "--show-command", "job", "--", "sh", "-c", "echo >$D/up; sleep 1000",
                     f"--password={SECRET}", f"PGPASSWORD={SECRET}", "--api-token", SECRET,
                     f"redis://ana:{SECRET}@db/0", f"mysql --password={SECRET}", "plain")
    t.until("it is up", t.path("up").exists)
    command = t.show("job")["holders"][0]["command"]
    t.contains(command, "sh -c 'echo >$D/up; sleep 1000' --password=*** PGPASSWORD=*** --api-token *** redis://ana:***")
    t.contains(command, "plain")
    t.true(SECRET not in printed(t, "job") + kept(), "a secret is shown")
    t.end(holder)


@case
def inside_a_run_the_password_is_missed(t):
    use(t)
    done = t.run("run", "job", "--", "sh", "-c", "env; $HF run other true")
    t.equal(done.code, 64, done.err)
    t.contains(done.err, "--url-file")
    t.true(PASSWORD not in done.out + done.err, done.out)
    path = t.path("url")
    path.write_text(t.env["HOLDFAST_URL"] + "\n")
    path.chmod(0o600)
    # With it the same store is known by what is held there.
    done = t.run("run", "job", "--", hf.HOLDFAST, "run", "--url-file", str(path), "job", "true")
    t.equal(done.code, 64, done.err)
    t.contains(done.err, "itself")
    done = t.run("run", "-s", "job", "--", hf.HOLDFAST, "run", "--url-file", str(path), "-s", "job", "echo", "in")
    t.equal((done.code, done.out), (0, "in\n"), done.err)


def main():
    global server
    sys.argv[1:] = [arg for arg in sys.argv[1:] if not os.path.isdir(arg)]  # the build folder
    version = subprocess.run([hf.HOLDFAST, "version"], stdout=subprocess.PIPE, text=True)
    reason = None if "redis" in version.stdout.split() else "no Redis store in this build"
    try:
        if reason is None:
            with redis.standalone(requirepass=PASSWORD) as server:
                hf.main()
    except redis.Missing as missing:
        reason = missing
    print(f"1..0 # SKIP {reason}")
    sys.exit(77)


if __name__ == "__main__":
    main()
