# src/store/common.c: a follower is not notified when the number ahead changes
s/return watch->follow && now->ahead != known->ahead;/return false;/
