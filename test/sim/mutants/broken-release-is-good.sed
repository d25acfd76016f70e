# src/store/memory/verbs.c: LEAVE succeeds although the place was broken
/^static int leave/,/^}/ s/return HF_ELOST;/return 0;/
