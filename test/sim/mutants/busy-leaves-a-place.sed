# src/store/memory/enter.c: a try that is refused stands in line all the same
s/^    if (!repeat && (r = refuse(queue, req)) == 0) {/    if (!repeat)\
        r = refuse(queue, req);\
    if (r == HF_EBUSY)\
        join_line(world, session, queue, req);\
    if (!repeat \&\& r == 0) {/
