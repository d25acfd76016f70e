# src/store/common.c: a waiter is not notified of its grant
s/^    if (now->state != known->state)/    if (now->state < known->state)/
