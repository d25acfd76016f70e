# src/store/memory/leave.c: LEAVE says all was well although the place was broken
/^int hf_world_leave/,/^}/ s/return HF_ELOST;/return 0;/
