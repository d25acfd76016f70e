# src/store/memory/verbs.c: AMEND takes a place again that was lost
/^static int amend/,/^}/ s/^    if (queue != NULL/    if (place != NULL \&\& queue == NULL) {\
        queue = hf_world_line(world, req->name, true);\
        place->ticket.seq = place->ticket.token = ++world->token;\
        hf_queue_join(queue, place);\
        hf_world_changed(world, queue);\
    }\
&/
