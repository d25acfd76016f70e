# src/store/common.c: a holder is not told that it is asked
s/return now->state == HF_STAND_HOLDS && !same_reason.*;/return false \&\& same_reason(now->asked, known->asked);/
