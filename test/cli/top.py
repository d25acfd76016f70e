#!/usr/bin/env -S python3 -B
"""top.py - `holdfast top` on a terminal, and what it prints for scripts."""
from hf import *
from tmux import *

ASAN = "asan" in HOLDFAST
MANY = 20 if ASAN else 200  # a process under ASan takes a fifth of a second to start
HOSTILE = "x\u202ey\u200b"
NOTE = "\x1b[31mred\x1b]0;title\a\u202e\nline"
CHINESE, KOREAN = "发布-生产环境", "데이터베이스"

if not os.path.exists(f"{os.path.dirname(HOLDFAST)}/holdfast-top"):
    print("1..0 # SKIP holdfast-top is not built")
    sys.exit(0)


def holds(t, names, *options):
    """Processes that hold these until their stdin ends."""
    started = [t.start("hold", *options, "--", name, stdin=subprocess.PIPE) for name in names]
    for process in started:
        t.contains(process.stderr.readline().decode(), "holding")
    return started


def drop(t, *processes):
    for process in processes:
        process.stdin.close()
        process.stdin = None
    for process in processes:
        t.equal(t.finish(process).code, 0, "status of a hold")


def queue(t, name):
    waiting = len(t.show(name)["waiters"])
    process = t.start("run", "-q", name, "--", "true")
    t.waiting(name, waiting + 1)
    return process


def start(t, *words, columns=80, lines=24, **env):
    """A terminal with top on it."""
    terminal = Tmux(t, columns, lines, **env)
    terminal.type(f'"$HF" top {" ".join(words)}; echo rc=$?.\n')
    terminal.shows("as of", "(live)")
    return terminal


def quit_by(terminal, key="q", code=0):
    terminal.keys(key)
    terminal.shows(f"rc={code}.")
    terminal.close()


# ---- The display --------------------------------------------------------------------------


@case
def many_locks_at_any_size(t):
    crowd = holds(t, [f"lock-{n:03}" for n in range(MANY)])
    waiters = [queue(t, name) for name in ("lock-007", "lock-011", "lock-011")]
    terminal = start(t)
    terminal.until(lambda text: ">lock-011" in text and f"held {MANY}  waiting 3" in text)
    rows = [row.split()[0].lstrip(">") for row in terminal.rows() if "lock-" in row and "@" in row]
    t.equal(rows[:4], ["lock-011", "lock-007", "lock-000", "lock-001"], "what hurts most is first")
    t.equal(len(rows), min(19, MANY), "rows on the screen")
    terminal.keys("End")
    terminal.shows(f">lock-{MANY - 1:03}")
    for columns, lines in ((200, 50), (40, 10), (10, 3), (1, 1), (3, 60), (80, 24)):
        terminal.resize(columns, lines)
        terminal.until(lambda text: lines < 3 or text.split("\n")[0].startswith(" "))
    terminal.shows("(live)", f">lock-{MANY - 1:03}", "q quit")
    terminal.keys("/")
    terminal.type("k-01")
    terminal.until(lambda text: f" 10 of {MANY} locks: k-01" in text and "lock-002" not in text)
    terminal.keys("Escape", "Home")
    terminal.shows("lock-002")
    quit_by(terminal)
    drop(t, *crowd)
    for waiter in waiters:
        t.equal(t.finish(waiter).code, 0)


@case
def it_is_live_and_the_chosen_row_stays(t):
    (a, b) = holds(t, ["a", "b"], "--note", "for people")
    terminal = start(t)
    terminal.shows(">a ", " b ")
    terminal.keys("Down")
    terminal.shows(">b ")
    waiter = queue(t, "b")
    screen = terminal.until(lambda text: ">b " in text and "waiting 1" in text)
    t.true(screen.index(">b ") < screen.index("\n a  "), "b hurts, and is first")
    terminal.keys("Enter")
    terminal.shows("b  mutex, 1 holds, 1 wait", ">holds", "`- 1", "note: for people",
                   "break --url", "--token", f"{t.show('b')['holders'][0]['token']} b\n")
    drop(t, b)
    t.equal(t.finish(waiter).code, 0)
    terminal.shows("its queue is empty")
    terminal.keys("Escape")
    terminal.until(lambda text: ">a " in text and "held 1  waiting 0" in text)
    terminal.keys("p")
    terminal.shows("(paused)")
    b, = holds(t, ["b"])
    drop(t, a)
    t.contains(terminal.screen(), ">a ")
    terminal.keys("p")
    terminal.until(lambda text: ">b " in text and "\n a  " not in text and "held 1 " in text)
    quit_by(terminal)
    drop(t, b)


@case
def wide_and_hostile_texts_stay_in_their_columns(t):
    held = holds(t, [CHINESE, KOREAN, HOSTILE, "plain", "e\u0301"], "--note", NOTE)
    terminal = start(t, columns=140)
    terminal.shows(CHINESE, KOREAN, "plain")
    rows = [row for row in terminal.rows() if "@" in row]
    t.equal(len(rows), 5, rows)
    t.equal(len({width(row[:row.index(" mutex")]) for row in rows}), 1, f"columns of {rows}")
    t.equal(len({width(row[:row.index("\\u001b")]) for row in rows}), 1, f"columns of {rows}")
    for text in (terminal.screen(), t.run("top", "--once").out):
        t.contains(text, r"x\u202ey\u200b")
        t.contains(text, r"\u001b[31mred\u001b]0;title\u0007\u202e\nline")
        for character in "\u202e\u200b\x1b\a":
            t.lacks(text, character)
    terminal.resize(50, 24)
    terminal.until(lambda text: CHINESE in text and all(width(row) <= 50 for row in text.split("\n")))
    quit_by(terminal)
    drop(t, *held)


@case
def no_color(t):
    held = holds(t, ["a"])
    terminal = start(t)
    terminal.shows(">a ")
    t.true(COLOR.search(terminal.screen("-e")), "there are colors")
    quit_by(terminal)
    terminal = start(t, NO_COLOR="1")
    terminal.shows(">a ")
    t.true(not COLOR.search(terminal.screen("-e")), "there are none with NO_COLOR")
    quit_by(terminal)
    drop(t, *held)


# ---- Keys -----------------------------------------------------------------------------------


@case
def break_wants_the_name(t):
    held, = holds(t, ["deploy"])
    terminal = start(t, "'dep*'")
    terminal.shows(">deploy", "1 of 1 locks: dep*")
    terminal.keys("b")
    terminal.shows("Break deploy", f"token {t.show('deploy')['holders'][0]['token']}, held by ",
                   f":{held.pid} for")
    terminal.type("deplox")
    terminal.keys("Enter")
    terminal.shows("the name does not match: nothing was broken")
    t.equal(held.poll(), None)
    terminal.keys("b")
    terminal.type("deploy")
    terminal.shows("Name to break: deploy")
    terminal.keys("Enter")
    terminal.shows('broken: "deploy", token', "no lock matches")
    t.equal(t.finish(held).code, 79)
    quit_by(terminal)


@case
def ask_gives_a_reason(t):
    held, = holds(t, ["a"], "--yield")
    terminal = start(t)
    terminal.shows(">a ")
    terminal.keys("a")
    terminal.shows("Ask for a", "Reason")
    terminal.type("重启 now")
    terminal.shows("重启 now")
    terminal.keys("Enter")
    terminal.shows('asked 1 holder of "a"', "no lock is in use")
    done = t.finish(held)
    t.equal(done.code, 0)
    t.contains(done.err, "重启 now")
    terminal.keys("a")
    terminal.shows("there is nobody to ask")
    held, = holds(t, ["b"])
    terminal.shows(">b ")
    terminal.keys("a")
    terminal.type("please")
    terminal.keys("Enter")
    terminal.shows('asked 1 holder of "b"')
    terminal.keys("Enter")
    terminal.shows(">holds (asked)", "asked: please")
    drop(t, held)
    terminal.keys("?")
    terminal.shows("any key goes back")
    terminal.keys("Escape")
    quit_by(terminal)


# ---- The terminal ---------------------------------------------------------------------------


def is_as_before(t, terminal, modes):
    t.equal(terminal.state("alternate_on"), "0", "the alternate screen")
    t.equal(terminal.state("cursor_flag"), "1", "the cursor")
    t.equal(terminal.state("keypad_flag"), "0", "the keypad")
    terminal.type("stty -g >$D/after; echo >$D/told\n")
    t.until("stty has run", t.path("told").exists)
    t.path("told").unlink()
    t.equal(t.path("after").read_text(), modes, "modes of the terminal")


@case
def the_terminal_is_as_before(t):
    held = holds(t, ["a"])
    terminal = Tmux(t)
    terminal.type("stty -g >$D/before; echo >$D/told\n")
    t.until("stty has run", t.path("told").exists)
    t.path("told").unlink()
    modes = t.path("before").read_text()
    ways = [("q", 0), ("C-c", 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
    if not ASAN:  # which has handlers of its own
        ways += [(signal.SIGSEGV, 139)]
    for way, code in ways:
        terminal.type('clear; "$HF" top\n')
        terminal.shows(">a ", "(live)")
        t.equal(terminal.state("alternate_on"), "1", "the alternate screen")
        if isinstance(way, str):
            terminal.keys(way)
        else:
            os.kill(terminal.started(), way)
        terminal.until(lambda text: ">a " not in text and text.rstrip().endswith("$"))
        terminal.type("echo rc=$?.\n")
        terminal.shows(f"rc={code}.")
        is_as_before(t, terminal, modes)
    terminal.type('clear; "$HF" top\n')
    terminal.shows(">a ", "(live)")
    terminal.keys("C-z")
    terminal.shows("Stopped")
    is_as_before(t, terminal, modes)
    terminal.resize(60, 20)
    terminal.type("fg\n")
    terminal.until(lambda text: ">a " in text and len(text.split("\n")[0].rstrip()) < 60)
    terminal.keys("q")
    terminal.until(lambda text: ">a " not in text)
    is_as_before(t, terminal, modes)
    terminal.close()
    drop(t, *held)


# ---- For scripts ------------------------------------------------------------------------------


@case
def once(t):
    t.contains(t.run("top", "--once").out, "no lock is in use")
    held = holds(t, ["a", "deploy"], "--note", "n")
    waiter = queue(t, "deploy")
    for done in (t.run("top", "--once"), t.run("top")):  # stdout is no terminal
        t.equal((done.code, done.err), (0, ""))
        lines = done.out.split("\n")
        t.contains(lines[0], f"sqlite:{t.folder}/locks.db")
        t.contains(lines[1], "held 2  waiting 1  lost in 1 h 0  2 locks")
        t.equal([line.split()[0] for line in lines[2:5]], ["NAME", "deploy", "a"])
        t.lacks(done.out, "\x1b")
    for line in t.run("top", "--once", env={"COLUMNS": "40"}).out.split("\n"):
        t.true(width(line) <= 40, line)
    t.lacks(t.run("top", "--once", "dep").out, "mutex")  # a whole name, as list has it
    t.contains(t.run("top", "--once", "--", "dep*").out, "mutex")
    locks = json.loads(t.run("top", "--json").out)
    t.equal(set(locks), {"store", "as_of", "round_trip_us", "held", "waiting", "lost_last_hour", "locks"})
    t.equal((locks["held"], locks["waiting"], locks["store"]), (2, 1, f"sqlite:{t.folder}/locks.db"))
    first = locks["locks"][0]
    t.equal(set(first), {"name", "kind", "pain_ms", "longest_wait_ms", "holders", "waiters"})
    t.equal((first["name"], first["kind"], len(first["holders"]), len(first["waiters"])), ("deploy", "mutex", 1, 1))
    t.true(first["longest_wait_ms"] >= 0 and first["pain_ms"] >= first["longest_wait_ms"], "pain")
    t.equal(set(first["holders"][0]), set(t.show("deploy")["holders"][0]))
    t.equal(locks["locks"][1]["longest_wait_ms"], None)
    t.equal([lock["name"] for lock in json.loads(t.run("top", "--json", "a*").out)["locks"]], ["a"])
    drop(t, *held)
    t.equal(t.finish(waiter).code, 0)


@case
def a_store_that_cannot_be_shown_is_reported(t):
    for url, code in (("redis://127.0.0.1:1", 69), ("nothing:", 64), ("sqlite:/no/such/folder/x", 69)):
        done = t.run("top", "--once", "--url", url)
        t.equal((done.code, done.out), (code, ""), url)
        t.one_line(done.err)
    done = t.run("top", "--json", env={"HOLDFAST_URL": None, "HOLDFAST_STORE": ""})
    t.equal(done.code, 64)
    t.contains(done.err, "has a password")
    terminal = Tmux(t)
    terminal.type('ASAN_OPTIONS=detect_leaks=0 TERM=nonesuch "$HF" top; echo rc=$?.\n')
    terminal.shows('a terminal of type "nonesuch" is not known', "rc=69.")
    terminal.type('ASAN_OPTIONS=detect_leaks=0 TERM=dumb "$HF" top; echo dumb=$?.\n')
    terminal.shows('type "dumb"; --once prints text', "dumb=69.")
    terminal.close()


main()
