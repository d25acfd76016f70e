# programs/cli/guard/timer.c: with a short lease the command is asked to end at once
# caught by: cli/deadline
s/(deadline - clock_boot_ns()) \/ 4;/(deadline - clock_boot_ns());/
