# src/store/memory/verbs.c: LEAVE of a place that is gone removes the first place instead
/^static int leave/,/^}/ s/^    if (place == NULL)/    struct hf_queue *line = hf_world_line(world, req->name, false);\
    if (place == NULL \&\& line != NULL \&\& line->first != NULL)\
        hf_world_depart(world, line->first);\
&/
