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
    for _ in {1..200}; do
        if "$@"; then return; fi
        sleep 0.05
    done
    fail "did not come true: $*"
}

# shellcheck disable=SC2016 # the commands' own shells expand these
job='echo "  job A runs with token $HOLDFAST_TOKEN"; echo $HOLDFAST_TOKEN >A; sleep 60'
# shellcheck disable=SC2016
next='echo "  job B runs with token $HOLDFAST_TOKEN"; echo $HOLDFAST_TOKEN >B'
cd "$work"

say "Job A takes the lock \"deploy\" and works for a minute."
echo '$ holdfast run --note "release 1.4" deploy -- ./job-a &'
"$binary" run --note "release 1.4" deploy -- sh -c "$job" &
holder=$!
until_true test -s A

say "Somebody else does not want to wait, and is told who has it."
status=0
typed run -n deploy -- echo mine
holdfast run -n deploy -- echo mine >out || status=$?
echo "exit status $status"
[ "$status" -eq 75 ] || fail "the exit status should be 75"
[ ! -s out ] || fail "nothing should have run"

say "Job B waits for its turn.  Who holds what, and who waits?"
echo '$ holdfast run deploy -- ./job-b &'
"$binary" run --quiet deploy -- sh -c "$next" &
waiter=$!
in_line() { [ "$(holdfast show --json deploy | grep -o '"token"' | wc -l)" -eq 2 ]; }
until_true in_line
see list
see show deploy

say "Job A is killed.  Its command goes with it, and B's turn comes at once."
echo "\$ kill -9 $holder"
start=$(date +%s%N)
kill -9 "$holder"
until_true test -s B
echo "  $((($(date +%s%N) - start) / 1000000)) ms later"
wait "$waiter" || fail "job B should have ended well"

say "Tokens only rise: what is written with them can tell a late writer."
echo "A had $(cat A), B had $(cat B)"
[ "$(cat B)" -gt "$(cat A)" ] || fail "B's token should be higher than A's"

say "Nobody holds anything any more."
see list
if holdfast show deploy >/dev/null 2>&1; then fail "the line should be empty"; fi
