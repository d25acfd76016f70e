#!/bin/sh
# split-brain.sh BUILD - the example shows what it says: two holders by hand, one with Holdfast.
exec "$(dirname "$0")/../../examples/split-brain.sh" "$(realpath "$1")/holdfast"
