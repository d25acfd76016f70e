# src/store/common.c: a waiter is not told that it is granted
s/^    if (now->state != known->state)/    if (now->state < known->state)/
