# src/store/common.c: a follower is not told that others are ahead
s/return watch->follow && now->ahead != known->ahead;/return false;/
