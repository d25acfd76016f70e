# src/base/clock.c: deadlines follow the time of day: REALTIME, not BOOTTIME
# caught by: unit/base/clock
s/CLOCK_BOOTTIME/CLOCK_REALTIME/
