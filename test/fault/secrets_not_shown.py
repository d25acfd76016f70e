#!/usr/bin/env -S python3 -B
"""secrets_not_shown - on a server that others share, only the name of a command is shown, and a
password appears neither in our output nor on the server.

    test/fault/secrets_not_shown.py [FOLDER] redis|postgres|zookeeper [CASE ...]
"""
from stores import *  # noqa: F403

OURS = f"sesame{os.getpid()}canary"  # of the command
WORDS = [f"-p{OURS}", "-u", f"u:{OURS}", f"Bearer {OURS}", "--passphrase", OURS, f"DB_PASS={OURS}"]


# ---- Passwords ------------------------------------------------------------------------------


@case
def passwords_are_not_shown(t):
    ways = [(["--url", row.url()], {}), (["--url-file", str(private(t, row.url()))], {}),
            ([], {"HOLDFAST_URL": row.url()}), *row.other_ways(t)]
    for args, env in ways:
        t.lacks(look_around(t, *args, env=env), SECRET)


@case
def passwords_are_not_shown_in_errors(t):
    with nobody() as at:
        for url in [row.url(at), *row.useless(at)]:
            for args in (["doctor", "-w", "0.1"], ["run", "-w", "0.1", "a", "true"]):
                done = t.run(*args, env={"HOLDFAST_URL": url})
                t.lacks(done.out + done.err, SECRET)
                t.true(done.code in (64, 69, 75, 78), f"{url}: {done.code}")


@case
def inside_a_run_the_url_has_no_password(t):
    t.env["HOLDFAST_URL"] = row.url()
    done = t.run("run", "job", "--", "sh", "-c", "env; $HF run other true")
    t.equal(done.code, 64, done.err)
    t.contains(done.err, "--url-file")
    t.lacks(done.out + done.err, SECRET)
    path = str(private(t, row.url()))
    # With the file it finds the lock that is held there.
    done = t.run("run", "job", "--", hf.HOLDFAST, "run", "--url-file", path, "job", "true")
    t.equal(done.code, 64, done.err)
    t.contains(done.err, "never end")
    done = t.run("run", "-s", "job", "--", hf.HOLDFAST, "run", "--url-file", path, "-s", "job", "echo", "in")
    t.equal((done.code, done.out), (0, "in\n"), done.err)


# ---- Commands -------------------------------------------------------------------------------


def printed(t, name):
    """All that our commands print about a lock with -v."""
    watch = t.start("watch", name)
    text = watch.stdout.readline().decode()
    t.end(watch)
    for words in (["list"], ["list", "--json"], ["show", name], ["show", "--json", name], ["try", name, "true"],
                  ["run", "-w", "0.6", name, "true"], ["break", name], ["doctor"], ["doctor", "--json", name]):
        done = t.run(words[0], *(["-v"] if words[0] != "break" else []), *words[1:])
        text += done.out + done.err
    return text


@case
def only_the_name_of_a_command_is_shown(t):
    t.env["HOLDFAST_URL"] = row.url()
    holder = t.start("run", "-v", "job", "--", "/bin/sh", "-c", "echo >$D/up; sleep 1000", *WORDS)
    t.until("it is up", t.path("up").exists)
    t.equal(t.show("job")["holders"][0]["command"], "sh")
    text = printed(t, "job") + row.kept()
    for secret in (OURS, SECRET):
        t.lacks(text, secret)
    t.contains(t.run("doctor").out, "others can read this store")
    done = t.end(holder)
    t.lacks(done.err, OURS)
    t.lacks(done.err, SECRET)


@case
def show_command_shows_arguments_without_passwords(t):
    t.env["HOLDFAST_URL"] = row.url()
    holder = t.start("run", "--show-command", "job", "--", "sh", "-c", "echo >$D/up; sleep 1000",
                     f"--password={OURS}", f"PGPASSWORD={OURS}", "--api-token", OURS,
                     f"redis://ana:{OURS}@db/0", f"mysql --password={OURS}", "plain")
    t.until("it is up", t.path("up").exists)
    command = t.show("job")["holders"][0]["command"]
    t.contains(command, "sh -c 'echo >$D/up; sleep 1000' --password=*** PGPASSWORD=*** --api-token *** redis://ana:***")
    t.contains(command, "plain")
    t.lacks(printed(t, "job") + row.kept(), OURS)
    t.end(holder)


play()
