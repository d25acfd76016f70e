#!/usr/bin/env -S python3 -B
"""check.py - is it still held?  From inside a run, and by token; and --url-file."""
from hf import *


def refused(t, code, *args, says="", **more):
    done = t.run(*args, **more)
    t.equal(done.code, code, f"exit code of {args}: {done.err}")
    t.equal(done.out, "", f"stdout of {args}")
    t.one_line(done.err)
    t.contains(done.err, says)


def token_of(t, name):
    return t.show(name)["holders"][0]["token"]


@case
def inside_a_run(t):
    for verb in ("run", "try"):
        done = t.run(verb, "a", "--", HOLDFAST, "check")
        t.equal((done.code, done.out, done.err), (0, "", ""))
    for options in (["-s"], ["-x"], ["--slots", "2"], ["--claim"]):
        t.equal(t.run("run", *options, "b", "--", HOLDFAST, "check", "b").code, 0, options)
    done = t.run("elect", "-q", "c", "--", HOLDFAST, "check")
    t.equal((done.code, done.out, done.err), (0, "", ""))


@case
def inside_a_run_with_a_store_of_its_own(t):
    done = t.run("run", "--url", f"sqlite:{t.folder}/other.db", "a", "--", HOLDFAST, "check")
    t.equal((done.code, done.err), (0, ""))
    # It is found from wherever the command goes.
    folder = t.path("100%?")
    folder.mkdir()
    done = t.run("run", "--url", "sqlite:other.db", "a", "--", "sh", "-c", "cd / && $HF check",
                 cwd=folder)
    t.equal((done.code, done.err), (0, ""))
    # Unless told otherwise.
    refused(t, 79, "run", "--url", f"sqlite:{t.folder}/other.db", "a", "--", HOLDFAST, "check",
            "--url", f"sqlite:{t.folder}/third.db", says='"a" is not held')


@case
def after_a_break(t):
    go, seen = t.path("go"), t.path("seen")
    holder = t.hold("a", script=f"trap '' TERM; while ! [ -e {go} ]; do sleep 0.01; done; "
                                f"$HF check; echo $? >{seen}")
    os.kill(holder.pid, signal.SIGSTOP)  # so that it does not end its command
    t.equal(t.run("break", "--yes", "a").code, 0)
    go.touch()
    t.until("it has checked", lambda: seen.exists() and seen.read_text().strip())
    os.kill(holder.pid, signal.SIGCONT)
    done = t.finish(holder)
    t.equal(seen.read_text().strip(), "79")
    t.equal(done.code, 79)
    t.contains(done.err, '"a" is not held')


@case
def by_token(t):
    holder = t.hold("a")
    token = token_of(t, "a")
    t.equal(t.run("check", "a", "--token", token).code, 0)
    t.equal(t.run("check", "--token", token, "a", "-w", "5s").code, 0)
    refused(t, 79, "check", "b", "--token", token, says=token)
    refused(t, 79, "check", "a", "--token", str(int(token) + 1), says='"a" is not held')
    waiter = t.start("run", "a", "--", "true")
    t.waiting("a", 1)
    refused(t, 79, "check", "a", "--token", t.show("a")["waiters"][0]["token"])
    t.end(holder)
    t.equal(t.finish(waiter).code, 0)
    refused(t, 79, "check", "a", "--token", token)


@case
def name_and_token_are_needed_outside_a_run(t):
    refused(t, 64, "check", says="NAME")
    refused(t, 64, "check", "a", says="--token")
    refused(t, 64, "check", env={"HOLDFAST_NAME": "a"}, says="HOLDFAST_TOKEN")
    refused(t, 64, "check", env={"HOLDFAST_NAME": "a", "HOLDFAST_TOKEN": "x"}, says="HOLDFAST_TOKEN")
    # The token of the lock around it says nothing about another.
    refused(t, 64, "run", "a", "--", HOLDFAST, "check", "b", says="--token")
    refused(t, 64, "check", "a/b", "--token", "1", says="'/'")
    refused(t, 64, "check", "a", "--token", "0", says="--token")
    refused(t, 64, "check", "-w", "0", "a", "--token", "1", says="-w 0")


@case
def a_store_that_cannot_be_asked(t):
    junk = t.path("junk.db")
    junk.write_bytes(b"this is not a database at all\n" * 1000)
    refused(t, 69, "check", "a", "--token", "1", "--url", f"sqlite:{junk}", says="junk.db")
    refused(t, 69, "check", "a", "--token", "1", "--url", f"sqlite:{t.folder}/no/such/x.db")


# ---- --url-file ------------------------------------------------------------------


def url_file(t, text, mode=0o600, name="url"):
    path = t.path(name)
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@case
def the_url_from_a_file(t):
    path = url_file(t, f"sqlite:{t.folder}/filed.db\nwhat follows does not count\n", 0o644)
    done = t.run("run", "--url-file", path, "a", "--", "sh", "-c",
                 f"$HF show --url-file {path} a >/dev/null && $HF check")
    t.equal((done.code, done.err), (0, ""))
    t.true(t.path("filed.db").exists(), "the store is another")
    for verb in (["list"], ["doctor"], ["check", "a", "--token", "1"], ["ask", "a"]):
        t.true(t.run(*verb, "--url-file", path).code in (0, 1, 79), verb)
    bare = url_file(t, f"sqlite:{t.folder}/filed.db\r\n")
    t.equal(t.run("list", "--url-file", bare).code, 0)


@case
def a_password_in_the_file_is_a_secret(t):
    secret = "zk://ana:hunter2@127.0.0.1:1/x\n"
    for mode in (0o644, 0o604, 0o660, 0o622):
        refused(t, 64, "list", "--url-file", url_file(t, secret, mode), says="chmod 600")
    done = t.run("check", "a", "--token", "1", "-w", "1s", "-v", "--url-file", url_file(t, secret))
    t.lacks(done.err, "chmod")
    t.lacks(done.err + done.out, "hunter2")


@case
def files_without_a_url(t):
    refused(t, 64, "list", "--url-file", str(t.path("none")), says="No such file")
    refused(t, 64, "list", "--url-file", url_file(t, ""), says="first line")
    refused(t, 64, "list", "--url-file", url_file(t, "\nsqlite:x\n"), says="first line")
    refused(t, 64, "list", "--url-file", url_file(t, "sqlite:" + "x" * 5000), says="first line")
    refused(t, 64, "list", "--url-file", str(t.folder), says="directory")


@case
def the_command_gets_no_password(t):
    plain = t.env["HOLDFAST_URL"]
    show = "env | grep -c hunter2; echo ${HOLDFAST_STORE-none}"
    url = plain + "?force=1"
    t.equal(t.run("run", "--url", url, "a", "--", "sh", "-c", show).out.split(), ["0", url])
    t.equal(t.run("run", "a", "--", "sh", "-c", show).out.split(), ["0", plain])
    none = t.run("run", "a", "--", "sh", "-c", show,
                 env={"HOLDFAST_URL": None, "XDG_STATE_HOME": str(t.folder), "HOLDFAST_STORE": "x"})
    t.equal(none.out.split(), ["0", "none"])
    # One that has a password cannot be had without a server: the environment alone.
    secret = {"HOLDFAST_URL": "zk://ana:hunter2@127.0.0.1:1/x"}
    done = t.run("run", "--url", plain, "a", "--", "sh", "-c", show, env=secret)
    t.equal(done.out.split(), ["0", plain])
    refused(t, 64, "check", env={"HOLDFAST_NAME": "a", "HOLDFAST_TOKEN": "1", "HOLDFAST_STORE": ""},
            says="--url-file")


main()
