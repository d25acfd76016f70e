#!/usr/bin/env -S python3 -B
"""elect.py - a command that runs where the leader is; and --observe."""
import re
from hf import *

TOLD = 'echo "$0 $HOLDFAST_TOKEN" >>"$D/terms"; exec sleep 1000'


def candidate(t, who, *options):
    """One whose command writes down who it is and its token for each term."""
    return t.start("elect", *options, "boss", "--", "sh", "-c", TOLD, who)


def terms(t):
    """[(who, token)] of the terms so far."""
    path = t.path("terms")
    pairs = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [(pair[0], int(pair[1])) for pair in pairs]


def led(t, count):
    t.until(f"there were {count} terms", lambda: len(terms(t)) == count)
    tokens = [token for _, token in terms(t)]
    t.equal(tokens, sorted(set(tokens)), "tokens rise")
    return [who for who, _ in terms(t)]


def commands(t):
    return sum(not command.startswith(HOLDFAST) for command in t.processes().values())


def one_command_runs(t):
    """One that is just becoming another program has no environment to be known by."""
    t.until("a command runs", lambda: commands(t) > 0)
    t.equal(commands(t), 1, "commands that run")


def end(t, *processes):
    for process in processes:
        process.terminate()
    for process in processes:
        t.equal(t.finish(process).code, 143)


@case
def exit_status_is_the_commands(t):
    for script, code in (("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)):
        done = t.run("elect", "boss", "--", "sh", "-c", f"echo $HOLDFAST_NAME; {script}")
        t.equal((done.code, done.out), (code, "boss\n"))
        t.one_line(done.err)
        t.true(re.match(r'holdfast: elected: leading "boss", token \d+\n', done.err), done.err)
    t.equal(t.run("elect", "-q", "boss", "true").err, "")
    t.equal(t.run("elect", "-q", "--again", "boss", "/no/such").code, 127)
    t.equal(t.run("elect", "boss", "--", "sh", "-c", "kill -INT $$").code, -signal.SIGINT)


@case
def when_the_leader_is_killed_the_next_leads(t):
    one = candidate(t, "one")
    t.equal(led(t, 1), ["one"])
    two = candidate(t, "two")
    t.waiting("boss", 1)
    t.end(one, signal.SIGKILL)
    t.equal(led(t, 2), ["one", "two"])
    one_command_runs(t)
    end(t, two)


@case
def a_deposed_leader_ends_its_command_and_queues_again(t):
    one = candidate(t, "one")
    t.equal(led(t, 1), ["one"])
    two = candidate(t, "two", "-q")
    t.waiting("boss", 1)
    t.equal(t.run("break", "--yes", "boss").code, 0)
    t.equal(led(t, 2), ["one", "two"])
    t.waiting("boss", 1)
    one_command_runs(t)
    t.equal(t.run("break", "--yes", "boss").code, 0)
    t.equal(led(t, 3), ["one", "two", "one"])
    t.waiting("boss", 1)
    one.terminate()
    done = t.finish(one)
    t.equal(done.code, 143)
    lines = [line for line in done.err.splitlines() if "wait" not in line]
    for line, part in zip(lines, ("elected", "lost", "again", "elected"), strict=True):
        t.contains(line, part)
    two.terminate()
    t.one_line(t.finish(two).err)  # a loss is told even so


@case
def stdout_stays_open_for_later_terms(t):
    one = t.start("elect", "-q", "boss", "--", "sh", "-c", "cat; echo term; exec sleep 1000",
                  stderr=subprocess.DEVNULL)
    t.equal(one.stdout.readline(), b"term\n")
    t.equal(t.run("break", "--yes", "boss").code, 0)
    t.equal(one.stdout.readline(), b"term\n")
    end(t, one)


@case
def a_killed_guardian_ends_one_term_only(t):
    one = candidate(t, "one")
    led(t, 1)
    os.kill(t.guardian(one), signal.SIGKILL)
    t.equal(led(t, 2), ["one", "one"])
    end(t, one)


@case
def again_runs_it_again_with_growing_pauses(t):
    one = t.start("elect", "--again", "boss", "--", "sh", "-c", "echo x; exit 3")
    lines = []
    while len(lines) < 6:
        lines.append(one.stderr.readline().decode())
    one.terminate()
    t.equal(t.finish(one).code, 143)
    pauses = [re.fullmatch(r'holdfast: the command ended with 3; taking part in "boss" again in '
                           r"(\d\.\d) s\n", line).group(1) for line in lines[1::2]]
    t.equal(pauses, ["0.1", "0.2", "0.4"])


@case
def again_lets_others_lead_in_between(t):
    one = t.start("elect", "-q", "--again", "boss", "--", "sh", "-c",
                  'echo "one $HOLDFAST_TOKEN" >>$D/terms; while ! test -e $D/go; do sleep 0.01; done')
    led(t, 1)
    two = candidate(t, "two")
    t.waiting("boss", 1)
    t.path("go").touch()
    t.equal(led(t, 2), ["one", "two"])
    t.waiting("boss", 1)
    end(t, one, two)


@case
def a_signal_ends_elect_despite_again(t):
    script = "trap 'exit 5' TERM; echo up >>$D/up; while :; do sleep 0.02; done"
    one = t.start("elect", "-q", "--again", "boss", "--", "sh", "-c", script)
    t.until("it is up", t.path("up").exists)
    t.equal(t.end(one).code, 5)
    t.equal(t.path("up").read_text(), "up\n")


@case
def a_signal_leaves_the_queue_at_once(t):
    one = candidate(t, "one")
    led(t, 1)
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, -2)):
        two = candidate(t, "two")
        t.waiting("boss", 1)
        t.equal(t.end(two, number).code, code)
        t.waiting("boss", 0)
    end(t, one)
    t.equal(led(t, 1), ["one"])


@case
def wait_limits_the_first_election_only(t):
    one = candidate(t, "one", "-w", "0.3")
    led(t, 1)
    done = t.run("elect", "-w", "0.3", "boss", "true")
    t.equal((done.code, done.out), (75, ""))
    t.true(done.seconds < 5, f"-w 0.3 took {done.seconds} s")
    two = candidate(t, "two")
    t.waiting("boss", 1)
    t.equal(t.run("break", "--yes", "boss").code, 0)
    led(t, 2)
    t.waiting("boss", 1)
    again = time.monotonic()
    t.until("that was longer", lambda: time.monotonic() > again + 0.5)
    t.waiting("boss", 1)
    end(t, one, two)


@case
def elect_waits_for_a_store_that_went_down(t):
    folder, away = t.path("store"), t.path("away")
    t.env["HOLDFAST_URL"] = f"sqlite:{folder}/locks.db"
    folder.touch()
    t.equal(t.run("elect", "-q", "boss", "true").code, 69, "one that never was there")
    folder.unlink()
    folder.mkdir()
    one = candidate(t, "one")
    led(t, 1)
    folder.rename(away)
    folder.touch()
    parts = ["elected", "lost", "again", "cannot", "again"]
    for part in parts:
        t.contains(one.stderr.readline().decode(), part)
    t.equal(commands(t), 0, "commands that run")
    folder.unlink()
    away.rename(folder)
    t.equal(led(t, 2), ["one", "one"])
    end(t, one)


@case
def elect_and_run_share_the_lock_of_a_name(t):
    one = candidate(t, "one")
    led(t, 1)
    t.equal(t.run("try", "boss", "true").code, 75)
    end(t, one)
    nested = t.run("run", "boss", "--", HOLDFAST, "elect", "boss", "true")
    t.equal(nested.code, 64)
    t.contains(nested.err, "never end")


@case
def observers_see_the_leader_change(t):
    text = t.start("elect", "--observe", "boss")
    lines = t.start("elect", "boss", "--observe", "--json")

    def seen():
        return text.stdout.readline().decode(), json.loads(lines.stdout.readline())

    plain, line = seen()
    t.equal((plain, line["name"], line["leader"]), ("no leader\n", "boss", None))
    one = candidate(t, "one", "--note", "blue \x1b green")
    plain, line = seen()
    token = led(t, 1) and terms(t)[0][1]
    t.true(re.fullmatch(rf"leader: \S+@\S+:{one.pid} since \d{{4}}-\S+Z token {token} "
                        r"note blue \\u001b green\n", plain), plain)
    leader = line["leader"]
    t.equal((leader["pid"], leader["token"], leader["note"]),
            (one.pid, str(token), "blue \x1b green"))
    t.contains(line["time"], "Z")
    end(t, one)
    plain, line = seen()
    t.equal((plain, line["leader"]), ("no leader\n", None))
    t.equal(t.list(), [], "observers take no part")
    for observer in (text, lines):
        t.equal(t.end(observer, signal.SIGINT).code, -signal.SIGINT)


@case
def options_that_make_no_sense_together_are_refused(t):
    for args in (["--json", "boss", "true"], ["--observe", "boss", "true"], ["boss"],
                 ["--observe", "--again", "boss"], ["--observe", "-w", "1", "boss"],
                 ["--observe"], ["-s", "boss", "true"]):
        done = t.run("elect", *args)
        t.equal(done.code, 64, str(args))
        t.one_line(done.err)


main()
