# src/core/hold.c: a renewal after the deadline brings the lock back
/case HF_EXPIRED:/,/^    }/ s/lose(hold, false);/(void)0;/
