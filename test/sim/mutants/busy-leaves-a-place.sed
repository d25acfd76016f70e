# src/store/memory/verbs.c: a try that is refused stands in line all the same
s/^    if (!repeat && r == 0)/    if (!repeat \&\& r == HF_EBUSY)\
        take_place(world, session, queue, req);\
&/
