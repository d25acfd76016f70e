# src/store/common.c: a holder is not notified of an ASK
s/return now->state == HF_STAND_HOLDS && !same_reason.*;/return false \&\& same_reason(now->asked, known->asked);/
