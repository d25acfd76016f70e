#!/usr/bin/env -S python3 -B
"""chaos.py [SECONDS [SEED]] - holdfast or its guardian is killed or stopped at
random moments, for SECONDS (5); no two commands ever run at the same time.

Each command and what it leaves behind holds a kernel lock of its own, taken
without waiting: it fails if anything of an earlier holder is still alive.
"""
import random
import threading
from hf import *

SIZES = [int(arg) for arg in sys.argv[1:] if arg.isdigit()]
SECONDS = (SIZES + [5])[0]
SEED = SIZES[1] if len(SIZES) > 1 else int.from_bytes(os.urandom(4), "big")

COMMAND = """
exec 9>"$D/oracle"
flock -n 9 || echo overlap >>"$D/bad"
( setsid sleep 0.05 & )
sleep 0.02 | sleep 0.02
echo $HOLDFAST_TOKEN >>"$D/tokens"
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


def contend(t, end, dice, codes):
    while time.monotonic() < end:
        process = t.start("run", "-q", "a", "--", "sh", str(t.path("command")),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if dice.random() < 0.5:
            strike(t, process, dice)
        codes.append(process.wait(LIMIT))


@case
def no_two_run_at_the_same_time(t):
    print(f"# seed {SEED}")
    # The leak checker stops its own process to look at it, and hangs when somebody
    # else stops and continues that at the same moment.
    t.env["ASAN_OPTIONS"] = "detect_leaks=0"
    t.path("command").write_text(COMMAND)
    end, codes = time.monotonic() + SECONDS, []
    threads = [threading.Thread(target=contend, args=(t, end, random.Random(SEED + i), codes))
               for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tokens = list(map(int, t.path("tokens").read_text().split()))
    counts = {code: codes.count(code) for code in sorted(set(codes))}
    print(f"# {len(tokens)} commands ended well; exit codes: {counts}")
    t.true(not t.path("bad").exists(), "two ran at the same time")
    t.true(all(a < b for a, b in zip(tokens, tokens[1:])), "tokens do not rise")
    t.true(len(tokens) > SECONDS and -9 in counts, "too little happened")
    t.equal(set(counts) - {0, 79, -9}, set(), "unexpected exit codes")


main()
