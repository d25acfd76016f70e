#!/usr/bin/env -S python3 -B
"""chaos.py [SECONDS [SEED]] - holdfast or its guardian is killed or stopped at
random moments, for SECONDS (5); no two commands ever run at the same time.

Each command writes a history, and so does the process that it leaves behind: the
checker of test/chaos sees whether anything of an earlier holder was still alive.
"""
import random
import threading
from hf import *

sys.path.insert(0, str(CHAOS))
from history import History  # noqa: E402

SIZES = [int(arg) for arg in sys.argv[1:] if arg.isdigit()]
SECONDS = (SIZES + [5])[0]
SEED = SIZES[1] if len(SIZES) > 1 else int.from_bytes(os.urandom(4), "big")

# It leaves a process behind that has a session of its own.
COMMAND = f"""
import os, sys, time
sys.path.insert(0, {str(CHAOS)!r})
from history import History

history = History(sys.argv[1], who=sys.argv[2], n=int(sys.argv[3]))
history.grant(int(os.environ["HOLDFAST_TOKEN"]))
left_behind = os.fork() == 0 and (os.setsid() or os.fork() == 0 or os._exit(0))
end = time.monotonic() + (0.05 if left_behind else 0.02)
while time.monotonic() < end:
    history.act()
    time.sleep(0.001)
"""


def strike(t, process, dice):
    """Harm one of the two at a random moment, never both."""
    time.sleep(dice.random() * 0.4)  # in the queue, or while its command runs
    victim = process.pid
    try:
        if dice.random() < 0.4:
            victim = t.guardian(process)
        if dice.random() < 0.3:
            os.kill(victim, signal.SIGSTOP)
            time.sleep(dice.random() * 0.1)
            os.kill(victim, signal.SIGCONT)
        else:
            os.kill(victim, signal.SIGKILL)
    except (OSError, Failure):
        pass  # it ended by itself


def contend(t, end, dice, codes, who):
    path, n = t.path("histories") / f"{who}.jsonl", 0
    while time.monotonic() < end:
        n += 1
        history = History(path, who=who, n=n)
        history.want()
        process = t.start("run", "-q", "a", "--", sys.executable, "-S", "-E", t.path("command"), path, who, str(n),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if dice.random() < 0.5:
            strike(t, process, dice)
        codes.append(process.wait(LIMIT))
        if codes[-1] in (0, 79):
            history.release(result="0" if codes[-1] == 0 else "HF_ELOST")
        else:
            history.add("died", result=str(codes[-1]))
    history.add("end", status=0)


@case
def no_two_run_at_the_same_time(t):
    print(f"# seed {SEED}")
    # The leak checker stops its own process to look at it, and hangs when somebody
    # else stops and continues that at the same moment.
    t.env["ASAN_OPTIONS"] = "detect_leaks=0"
    t.path("command").write_text(COMMAND)
    t.path("histories").mkdir()
    end, codes = time.monotonic() + SECONDS, []
    threads = [threading.Thread(target=contend, args=(t, end, random.Random(SEED + i), codes, f"c{i}"))
               for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    t.until("what they left behind has ended", lambda: not t.processes())
    counts = {code: codes.count(code) for code in sorted(set(codes))}
    print(f"# exit codes: {counts}")
    t.judge(t.path("histories"))
    t.true(counts.get(0, 0) > SECONDS and -9 in counts, "too little happened")
    t.equal(set(counts) - {0, 79, -9}, set(), "unexpected exit codes")


main()
