# src/store/memory/verbs.c: DOWNGRADE takes a lost place again
/^static int downgrade/,/^}/ s/^    if (queue != NULL/    if (place != NULL \&\& queue == NULL) {\
        queue = hf_world_line(world, req->name, true);\
        place->place.seq = place->place.token = ++world->token;\
        hf_queue_join(queue, place);\
        hf_world_changed(world, queue);\
    }\
&/
