# src/client/handle/published.c: the descriptor of hf_lost_fd() has a clock that stands still in a suspended machine
# caught by: unit/client/handle/published
s/timerfd_create(CLOCK_BOOTTIME,/timerfd_create(CLOCK_MONOTONIC,/
