#!/bin/sh
# grown.sh BUILD - programs and libraries of different ages work with each other.
#
# Each folder here, like 0.1, has the header of an older version, without its comments.  A
# copy of today's header in which every struct is larger by a member stands for a newer
# one.  uses.c is run
#
#   built with an older header, with today's library;
#   built with an older header, with a library built with the larger structs;
#   built with the larger structs, with today's library.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/include" "$work/lib"

# hf_histogram stands inside hf_stats: it alone may not grow.
awk '/^struct hf_[a-z_]* \{$/ && $2 != "hf_histogram" { inside = 1; structs++ }
     /^};$/ && inside { print "    uint64_t grown[4];"; inside = 0 }
     { print }
     END { if (structs < 7) exit 1 }' include/holdfast.h >"$work/include/holdfast.h"

flags="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror"
for layer in store $(cd src && find base core drive client recipe store/memory store/sqlite -type d); do
    mkdir -p "$work/objects/$layer"
    # The words of $flags are meant to split.
    # shellcheck disable=SC2086
    (cd "$work/objects/$layer" && cc $flags '-DHF_GUARDIAN_PATH="/none"' '-DHF_GUARDIAN_BESIDE="none"' -O0 -fPIC -I"$work/include" -I"$root/include" -I"$root/src" \
        -I"$build/embed" -c "$root/src/$layer"/*.c)
done
soname=$(readelf -d "$build/libholdfast.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
# shellcheck disable=SC2046
cc -shared -Wl,-soname,"$soname",--version-script=src/holdfast.map -o "$work/lib/$soname" $(find "$work/objects" -name "*.o") -lsqlite3 -pthread

uses() { # HEADER'S FOLDER, LIBRARY'S FOLDER, FLAG...
    header=$1 library=$2
    shift 2
    echo "# $header/holdfast.h, $library/$soname"
    # shellcheck disable=SC2086
    cc $flags "$@" -I"$header" -o "$work/uses" test/abi/uses.c "$build/libholdfast.so" -lcmocka
    LD_LIBRARY_PATH=$library "$work/uses"
}

# Those that programs with this name of the library were built with: 0.1, 0.1.4...
version=${soname#libholdfast.so.}
[ -d "test/abi/$version" ] || { echo "grown.sh: there is no test/abi/$version" >&2; exit 1; }
for header in "test/abi/$version" "test/abi/$version".*; do
    [ -d "$header" ] || continue
    uses "$header" "$build"
    uses "$header" "$work/lib"
done
uses "$work/include" "$build" -DGROWN
