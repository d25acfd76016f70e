# src/store/memory/verbs.c: a refused try leaves a place in the queue
s/^    if (!repeat && r == 0)/    if (!repeat \&\& r == HF_EBUSY)\
        take_place(world, session, queue, req);\
&/
