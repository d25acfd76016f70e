#!/bin/sh
# split-brain.sh - two holders at once, in 20 seconds: a Redis lock written by hand, then Holdfast.
#
#     examples/split-brain.sh [HOLDFAST]      needs redis-server
#
# Worker A takes the lock and writes a line every 0.2 s.  Then its machine hangs for 4 s: all its processes
# are stopped.  Its lock expires after 2 s, and worker B takes it.  When A wakes up, it does not know.
# Prints what each of them wrote; status 0 if both wrote at once by hand, and not with Holdfast.
set -eu
holdfast=${1:-holdfast}
command -v redis-server >/dev/null || { echo "split-brain: redis-server is missing" >&2; exit 77; }
dir=$(mktemp -d)
pids=
end() {
    for started in $pids; do send CONT "$started"; send KILL "$started"; done
    rm -rf "$dir"
}
trap end EXIT

family() { # PID and all its descendants
    echo "$1"
    for child in $(pgrep -P "$1"); do family "$child"; done
}

send() { # SIGNAL PID: to its family; some may end meanwhile
    for pid in $(family "$2"); do kill "-$1" "$pid" 2>/dev/null || true; done
}

redis-server --port 0 --unixsocket "$dir/redis" --save '' --dir "$dir" >/dev/null &
pids=$!
cli() { redis-cli -s "$dir/redis" "$@" 2>/dev/null; }
tries=0
until cli PING >/dev/null || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done

cat >"$dir/write" <<'SH'
i=0
while [ $i -lt "$2" ]; do echo "$1 $(date +%s%N)" >>"$3"; sleep 0.2; i=$((i + 1)); done
SH

by_hand() { # WORKER LINES FILE: SET NX, renewed while it works
    until [ "$(cli SET lock "$1" NX PX 2000)" = OK ]; do sleep 0.1; done
    (while sleep 0.5; do cli PEXPIRE lock 2000 >/dev/null; done) &
    sh "$dir/write" "$@"
    kill $!
    cli DEL lock >/dev/null
}

by_holdfast() { # WORKER LINES FILE
    exec "$holdfast" run -q --url "redis+unix:$dir/redis?ttl=2s" lock -- sh "$dir/write" "$@"
}

play() { # HOW FILE
    : >"$2"
    "$1" A 30 "$2" &
    a=$!
    pids="$pids $a"
    tries=0
    until [ -s "$2" ] || [ $tries -ge 200 ]; do sleep 0.05; tries=$((tries + 1)); done
    "$1" B 15 "$2" &
    b=$!
    pids="$pids $b"
    sleep 1
    send STOP $a
    sleep 4
    send CONT $a
    wait $b || true
    wait $a || true
}

late() { # FILE: lines that A wrote after the first of B
    awk '$1 == "B" { b = 1 } $1 == "A" && b { n++ } END { print n + 0 }' "$1"
}

echo "A machine hangs for 4 s while its lock lasts for 2 s."
play by_hand "$dir/hand"
echo "SET NX by hand: A wrote $(late "$dir/hand") lines after B had begun."
play by_holdfast "$dir/holdfast"
echo "Holdfast:       A wrote $(late "$dir/holdfast") lines after B had begun; \
B wrote $(grep -c B "$dir/holdfast")."
[ "$(late "$dir/hand")" -gt 0 ] && [ "$(late "$dir/holdfast")" -eq 0 ]
