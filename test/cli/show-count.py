#!/usr/bin/env -S python3 -B
"""show-count.py [CONTENDERS [TURNS]] - many processes count in one plain file.

Each of CONTENDERS (50) shells runs a counter under the lock TURNS (8) times.
The counter reads, waits and writes without any lock of its own; it also writes
down its token.  At the end nothing is missing and tokens have only risen.
"""
# release build: it starts the command 400 times
from hf import *

SIZES = [int(arg) for arg in sys.argv[1:] if arg.isdigit()]
CONTENDERS, TURNS = (SIZES + [50, 8][len(SIZES):])[:2]

COUNTER = 'read n <"$D/n"; echo $((n + 1)) >"$D/n"; echo $HOLDFAST_TOKEN >>"$D/tokens"'


@case
def nothing_is_lost_and_tokens_rise(t):
    t.path("n").write_text("0\n")
    t.path("count").write_text(COUNTER)
    loop = f'i=0; while [ $i -lt {TURNS} ]; do "$HF" run -q a -- sh "$D/count" || exit; i=$((i + 1)); done'
    begin = time.monotonic()
    contenders = [subprocess.Popen(["sh", "-c", loop], env=t.env) for _ in range(CONTENDERS)]
    t.started += contenders
    for contender in contenders:
        t.equal(contender.wait(60 + CONTENDERS * TURNS / 10), 0, "a contender's exit code")
    seconds = time.monotonic() - begin
    tokens = list(map(int, t.path("tokens").read_text().split()))
    t.equal(int(t.path("n").read_text()), CONTENDERS * TURNS, "the counter")
    t.equal(len(tokens), CONTENDERS * TURNS, "tokens")
    t.true(all(a < b for a, b in zip(tokens, tokens[1:])), "tokens do not rise")
    print(f"# {CONTENDERS} x {TURNS} runs in {seconds:.1f} s, "
          f"{CONTENDERS * TURNS / seconds:.0f} runs a second")


main()
