#!/bin/bash
# demo.sh [HOLDFAST] - locks at work, in a store of their own, without a server.
#
# Ends with 0 only if everything went as it says.
set -euo pipefail

binary=$(realpath "${1:-${HOLDFAST:-build/holdfast}}")
work=$(mktemp -d)
export XDG_STATE_HOME=$work
unset HOLDFAST_URL
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT

holdfast() { "$binary" "$@"; }
say() { printf '\n# %s\n' "$*"; }
typed() { printf '$ holdfast'; printf ' %q' "$@"; echo; }
see() { typed "$@"; holdfast "$@"; }
fail() { echo "demo: $*" >&2; exit 1; }

# until_true COMMAND...: for what another process is about to do
until_true() {
    for _ in {1..1000}; do
        if "$@"; then return; fi
        sleep 0.01
    done
    fail "did not come true: $*"
}

cd "$work"
for job in a b; do
    cat >job-$job <<END
#!/bin/sh
echo "  job $job runs with token \$HOLDFAST_TOKEN"
echo "\$HOLDFAST_TOKEN" >token-$job
[ $job = b ] || sleep 60
END
done
chmod +x job-a job-b

say "Job a takes the lock \"deploy\" and works for a minute."
echo '$ holdfast run --note "release 1.4" deploy -- ./job-a &'
"$binary" run --note "release 1.4" deploy -- ./job-a &
holder=$!
until_true test -s token-a

say "Another client does not want to wait, and sees who holds the lock."
status=0
typed run -n deploy -- echo mine
holdfast run -n deploy -- echo mine >out || status=$?
echo "exit status $status"
[ "$status" -eq 75 ] || fail "the exit status should be 75"
[ ! -s out ] || fail "nothing should have run"

say "Job b waits for its turn.  Who holds what, and who waits?"
echo '$ holdfast run deploy -- ./job-b &'
"$binary" run --quiet deploy -- ./job-b &
waiter=$!
in_line() { [ "$(holdfast show --json deploy | grep -o '"token"' | wc -l)" -eq 2 ]; }
until_true in_line
see list
see show deploy

say "Job a is killed.  Its command goes with it, and b's turn comes at once."
echo "\$ kill -9 $holder"
start=$(date +%s%N)
kill -9 "$holder"
wait "$holder" 2>/dev/null || true
until_true test -s token-b
echo "  $((($(date +%s%N) - start) / 1000000)) ms later"
wait "$waiter" || fail "job b should have ended well"

say "Tokens only rise, so a resource that checks them can refuse a late writer."
echo "a had $(cat token-a), b had $(cat token-b)"
[ "$(cat token-b)" -gt "$(cat token-a)" ] || fail "b's token should be higher than a's"

say "Nobody holds anything any more."
see list
if holdfast show deploy >/dev/null 2>&1; then fail "the line should be empty"; fi

say "That was it.  Now install it, and try it on a job of yours:"
cat <<'END'
    sudo make install
    holdfast run nightly -- ./backup.sh
    holdfast list
END
