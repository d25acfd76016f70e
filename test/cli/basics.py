#!/usr/bin/env -S python3 -B
"""basics.py - the command runs as if holdfast had not been there."""
import stat
from hf import *


@case
def exit_status_is_the_commands(t):
    for code in (0, 1, 7, 75, 255):
        t.equal(t.run("run", "a", "--", "sh", "-c", f"exit {code}").code, code)
    done = t.run("run", "a", "--", "sh", "-c", "kill -TERM $$")
    t.equal((done.code, done.out, done.err), (143, "", ""))
    t.equal(t.run("run", "a", "--", "sh", "-c", "kill -KILL $$").code, 137)


@case
def dies_of_sigint_when_the_command_does(t):
    t.equal(t.run("run", "a", "--", "sh", "-c", "kill -INT $$").code, -signal.SIGINT)


@case
def options_come_before_or_after_the_name(t):
    for args in (["run", "-q", "-w", "5", "a", "echo", "-n", "x"],
                 ["run", "a", "-q", "-w5", "echo", "-n", "x"],
                 ["run", "-q", "a", "--wait=5", "--", "echo", "-n", "x"],
                 ["try", "a", "echo", "-n", "x"]):
        done = t.run(*args)
        t.equal((done.code, done.out, done.err), (0, "x", ""), str(args))


@case
def a_string_is_run_by_the_shell(t):
    for words in (["run", "a", "-c", "echo $0 | tr a-z A-Z; exit 3"], ["try", "-c", "echo $0 | tr a-z A-Z; exit 3", "a"],
                  ["elect", "-q", "--command=echo $0 | tr a-z A-Z; exit 3", "a"]):
        done = t.run(*words, env={"SHELL": ""})
        t.equal((done.code, done.out, done.err), (3, "/BIN/SH\n", ""), str(words))
    shell = t.path("shell")
    shell.write_text('#!/bin/sh\necho "mine: $#, $1, $2"\n')
    shell.chmod(0o755)
    t.equal(t.run("run", "a", "-c", "x  y; z", env={"SHELL": str(shell)}).out, "mine: 2, -c, x  y; z\n")
    t.equal(t.run("run", "a", "-c", "true", env={"SHELL": "/no/such/shell"}).code, 127)
    env = dict(t.env)
    env.pop("SHELL", None)
    t.equal(subprocess.run([HOLDFAST, "run", "a", "-c", "exit 4"], env=env, timeout=LIMIT).returncode, 4)


@case
def a_string_is_shown_as_other_commands_are(t):
    holder = t.start("run", "a", "-c", "echo up; TOKEN=x sleep 1000", env={"SHELL": "/bin/sh"})
    t.equal(holder.stdout.readline(), b"up\n")
    t.equal(t.show("a")["holders"][0]["command"], "/bin/sh -c echo up; TOKEN=x sleep 1000")
    t.end(holder)


@case
def the_command_gets_its_own_token_not_the_callers(t):
    forged = {"HOLDFAST_TOKEN": "999999999999999999", "HOLDFAST_SLOT": "7",
              "HOLDFAST_NAME": "other"}
    show = "echo $HOLDFAST_NAME $HOLDFAST_TOKEN ${HOLDFAST_SLOT-none}"
    first = t.run("run", "a b", "--", "sh", "-c", show, env=forged).out.split()
    second = t.run("run", "a b", "--", "sh", "-c", show).out.split()
    t.equal((first[:2], first[3:]), (["a", "b"], ["none"]))
    t.true(0 < int(first[2]) < int(second[2]), f"tokens: {first}, {second}")
    t.true(int(first[2]) < 999999999999999999, "token is the caller's")


@case
def a_password_in_the_url_is_kept_from_the_command(t):
    secret = {"HOLDFAST_URL": t.env["HOLDFAST_URL"] + "?force=1&password=hunter2"}
    plain = t.run("run", "a", "--", "sh", "-c", "echo ${HOLDFAST_URL-none}")
    t.equal(plain.out.strip(), t.env["HOLDFAST_URL"])
    done = t.run("run", "--url", t.env["HOLDFAST_URL"], "a", "--", "sh", "-c",
                 "echo ${HOLDFAST_URL-none}", env=secret)
    t.equal(done.out.strip(), t.env["HOLDFAST_URL"])


@case
def a_password_in_a_bad_url_is_not_shown(t):
    for url in ("foo://ana:hunter2@127.0.0.1/x", "sqlite://ana:hunter2@127.0.0.1/x",
                "foo://127.0.0.1/x?password=hunter2"):
        done = t.run("run", "--url", url, "a", "true")
        t.equal(done.code, 64)
        t.one_line(done.err)
        t.lacks(done.err, "hunter2")


@case
def stdin_and_stdout_pass_through(t):
    data = os.urandom(200000)
    process = t.start("run", "a", "--", "cat", stdin=subprocess.PIPE)
    out, err = process.communicate(data, timeout=LIMIT)
    t.equal((out == data, err, process.returncode), (True, b"", 0))


@case
def other_open_files_pass_through_and_none_of_ours_but_the_lifeline(t):
    with open(t.path("x"), "w+") as file:
        done = t.run("run", "a", "--", "sh", "-c", "ls /proc/$$/fd; echo hi >&$FD",
                     pass_fds=[file.fileno()], env={"FD": str(file.fileno())})
        t.equal(done.code, 0)
        t.equal(set(map(int, done.out.split())), {0, 1, 2, file.fileno(), 700, 701})
        file.seek(0)
        t.equal(file.read(), "hi\n")


@case
def closed_stdio_stays_closed(t):
    script = 'exec "$HF" run -o a -- sh -c "ls /proc/self/fd >$D/fds" <&- >&- 2>&-'
    t.equal(subprocess.run(["sh", "-c", script], env=t.env, timeout=LIMIT).returncode, 0)
    fds = set(map(int, t.path("fds").read_text().split()))
    t.true(not fds & {2} and max(fds) <= 3, f"open: {fds}")


@case
def stdout_is_released_when_the_command_lets_go(t):
    process = t.start("run", "a", "--", "sh", "-c", "echo x; exec >&- 2>/dev/null; sleep 1000",
                      stderr=subprocess.DEVNULL)
    t.equal(process.stdout.read(), b"x\n")
    process.terminate()
    t.equal(process.wait(LIMIT), 143)


def proc_status(pid_text, key):
    return [line.split()[1] for line in pid_text.splitlines() if line.startswith(key)][0]


@case
def the_command_has_the_callers_signal_mask_and_ignored_signals(t):
    def status(script):
        return subprocess.run(["sh", "-c", script], env=t.env, capture_output=True, text=True,
                              timeout=LIMIT).stdout

    for trap in ("", 'trap "" HUP USR1 CHLD;'):
        wanted = status(trap + " exec cat /proc/self/status")
        got = status(trap + ' exec "$HF" run a -- cat /proc/self/status')
        for key in ("SigBlk:", "SigIgn:"):
            t.equal(proc_status(got, key), proc_status(wanted, key), key)
    t.true(int(proc_status(got, "SigIgn:"), 16) & 1 << (signal.SIGHUP - 1), "HUP is not ignored")


@case
def lack_of_memory_ends_the_command_before_its_guardian(t):
    """The command has the score that holdfast had; the guardian the lowest it may have."""
    score = "/proc/self/oom_score_adj"
    holder = t.start("-c", f'echo 700 >{score}; exec "$HF" run a -- sh -c "cat {score}; sleep 1000"',
                     executable="/bin/sh")
    t.equal(holder.stdout.readline(), b"700\n", "the command's")
    with open(f"/proc/{t.guardian(holder)}/oom_score_adj") as file:
        guardians = int(file.read())
    may = int(proc_status(pathlib.Path("/proc/self/status").read_text(), "CapEff:"), 16) & 1 << 24  # SYS_RESOURCE
    t.equal(guardians, -1000 if may else 0, "the guardian's")
    t.end(holder)


@case
def the_command_has_the_callers_nice_value(t):
    script = 'exec nice -n 7 "$HF" run a -- nice'
    got = subprocess.run(["sh", "-c", script], env=t.env, capture_output=True, text=True,
                         timeout=LIMIT).stdout
    t.equal(got.strip(), str(os.nice(0) + 7))


@case
def signals_are_passed_on(t):
    for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2"):
        script = f"trap 'echo {name}; exit 9' {name}; echo up >$D/{name}; while :; do sleep 0.02; done"
        process = t.start("run", "a", "--", "sh", "-c", script)
        t.until("it is up", t.path(name).exists)
        process.send_signal(getattr(signal, f"SIG{name}"))
        done = t.finish(process)
        t.equal((done.code, done.out), (9, name + "\n"))


@case
def an_ignored_signal_is_not_passed_on(t):
    script = 'trap "" HUP; exec "$HF" run a -- sh -c "echo >$D/up; cat >/dev/null; exit 3"'
    process = subprocess.Popen(["sh", "-c", script], env=t.env, stdin=subprocess.PIPE)
    t.started.append(process)
    t.until("it is up", t.path("up").exists)
    process.send_signal(signal.SIGHUP)
    process.stdin.close()
    t.equal(process.wait(LIMIT), 3)


@case
def an_empty_store_is_refused(t):
    """Two runners without their secret must not both deploy under a lock of their own."""
    env = {"XDG_STATE_HOME": str(t.path("state")), "HOLDFAST_URL": ""}
    verbs = (["run", "a", "true"], ["try", "a", "true"], ["elect", "a", "true"], ["hold", "a"], ["list"], ["show", "a"],
             ["wait", "a"], ["break", "--yes", "a"], ["doctor"], ["init"], ["serve", "--stdio"], ["top", "--once"],
             ["history", "a"], ["history", "--keep", "10"], ["check", "--token", "1", "a"])
    for words in verbs:
        for more in ({"env": env}, {}):
            done = t.run(*([words[0], "--url", ""] if not more else [words[0]]), *words[1:], **more)
            t.equal(done.code, 64, f"{words}: {done.out} {done.err}")
            t.contains(done.out + done.err, "URL is empty")
    t.true(not t.path("state").exists(), "there is a file")


@case
def memory_excludes_nobody(t):
    for words in (["run", "a", "true"], ["try", "a", "true"], ["elect", "a", "true"], ["hold", "a"]):
        for more in ({"env": {"HOLDFAST_URL": "memory:a"}}, {}):
            done = t.run(*([words[0], "--url", "memory:"] if not more else [words[0]]), *words[1:], **more)
            t.equal(done.code, 64, words)
            t.one_line(done.err)
            t.contains(done.err, "exclude nobody")


@case
def no_store_named_means_a_private_file(t):
    env = {"XDG_STATE_HOME": str(t.path("state")), "HOLDFAST_URL": None}
    t.equal(t.run("run", "a", "true", env=env).code, 0)
    file = t.path("state") / "holdfast" / "locks.db"
    t.equal(stat.S_IMODE(file.stat().st_mode), 0o600)
    t.equal(stat.S_IMODE(file.parent.stat().st_mode), 0o700)


@case
def version_and_help(t):
    t.true(t.run("version").out.startswith("holdfast 0."), "version")
    t.equal(t.run("--version").out, t.run("version").out)
    t.true("sqlite" in json.loads(t.run("version", "--json").out)["stores"], "stores")
    t.contains(t.run("help").out, "watch")
    t.equal(t.run("run", "--help").out, t.run("help", "run").out)


@case
def verbose_prints_requests_on_stderr(t):
    done = t.run("run", "-v", "a", "--", "echo", "x")
    t.equal((done.code, done.out), (0, "x\n"))
    t.true(len(done.err.splitlines()) >= 2, done.err)
    t.true(all(line.startswith("holdfast: ") for line in done.err.splitlines()), done.err)


@case
def a_closed_stderr_does_no_harm(t):
    holder = t.hold("a")
    reader, writer = os.pipe()
    waiter = t.start("run", "a", "--", "sh", "-c", "exit 4", stderr=writer)
    os.close(reader)
    os.close(writer)
    t.waiting("a", 1)
    time.sleep(0.6)  # long enough for the message about the holder
    t.end(holder)
    t.equal(t.finish(waiter).code, 4)


main()
