#!/bin/sh
# mutants.sh - prove that the simulation finds bugs.
#
#     test/sim/mutants.sh BUILD_DIR
#
# Each file in mutants/ is one small bug: a sed script for one source file, which
# its first line names.  The simulation is built with each bug in turn, in
# BUILD_DIR/mutants, and must fail.  One line per mutant: caught or SURVIVED.
# Status 1 if one survived, or if the simulation fails without any.
#
# CC, CFLAGS and SCHEDULES (most to try on each) may be set.
set -eu

[ $# -eq 1 ] || { echo "usage: mutants.sh BUILD_DIR" >&2; exit 64; }
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1/mutants"
out=$(cd "$1/mutants" && pwd)
: "${CC:=cc}" "${CFLAGS:=-O1}" "${SCHEDULES:=20000}"
flags="-std=c11 -D_GNU_SOURCE -UNDEBUG -I$root/include -I$root/src -I$root/test"
sources="src/base/clock.c src/base/error.c src/base/grow.c src/base/random.c
    src/core/hold.c src/core/lease.c src/core/line.c src/core/retry.c
    src/store/memory/look.c src/store/memory/queue.c src/store/memory/verbs.c
    src/store/memory/world.c
    src/client/engine.c src/client/query.c src/client/job.c
    src/store/common.c src/store/findings.c src/store/requests.c
    test/lib/sim/client.c test/lib/sim/network.c test/lib/sim/store.c
    test/lib/sim/store_link.c
    test/sim/app.c test/sim/chaos.c test/sim/check.c test/sim/group.c
    test/sim/plan.c test/sim/sim.c test/sim/world.c"

object() { # of a source file
    echo "$out/$(echo "$1" | tr / -).o"
}

compile() { # SOURCE [COPY]
    # shellcheck disable=SC2086
    $CC $flags -I"$root/$(dirname "$1")" $CFLAGS -c "${2:-$root/$1}" -o "$3"
}

link() { # PROGRAM [MUTATED-SOURCE MUTATED-OBJECT]
    objects=
    for source in $sources; do
        if [ "$source" = "${2:-}" ]; then
            objects="$objects $3"
        else
            objects="$objects $(object "$source")"
        fi
    done
    # shellcheck disable=SC2086
    $CC $CFLAGS $objects -o "$1"
}

for source in $sources; do
    compile "$source" "" "$(object "$source")"
done
link "$out/sim"
if ! "$out/sim" --count 2000 >"$out/sim.log"; then
    echo "the simulation fails without any mutant:"
    cat "$out/sim.log"
    exit 1
fi

survived=0
for script in "$root"/test/sim/mutants/*.sed; do
    name=$(basename "$script" .sed)
    source=$(sed -n '1s/^# \([^:]*\):.*/\1/p' "$script")
    what=$(sed -n '1s/^# [^:]*: //p' "$script")
    copy="$out/$name.c"
    sed -f "$script" "$root/$source" >"$copy"
    if cmp -s "$copy" "$root/$source"; then
        echo "SURVIVED  $name: changes nothing in $source; bring it up to date"
        survived=$((survived + 1))
        continue
    fi
    compile "$source" "$copy" "$copy.o"
    link "$out/$name" "$source" "$copy.o"
    status=0
    # A failed assert prints to stderr; the abort itself is not worth a line.
    timeout 60 "$out/$name" --count "$SCHEDULES" >"$out/$name.log" 2>&1 || status=$?
    case $status in
    0)
        echo "SURVIVED  $name: $what"
        survived=$((survived + 1))
        ;;
    1 | 134)
        reason=$(sed -n -e 's/^\[ *[0-9.]*\] //p' -e 's/.*: Assertion/assert/p' "$out/$name.log")
        echo "caught    $name: $what ($(echo "$reason" | head -n 1))"
        ;;
    *)
        echo "SURVIVED  $name: ended with status $status"
        survived=$((survived + 1))
        ;;
    esac
done
[ "$survived" -eq 0 ] || { echo "$survived survived"; exit 1; }
