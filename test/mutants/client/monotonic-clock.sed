# src/base/clock.c: time stands still while the machine is suspended: MONOTONIC, not BOOTTIME
# caught by: unit/base/clock
s/CLOCK_BOOTTIME/CLOCK_MONOTONIC/
