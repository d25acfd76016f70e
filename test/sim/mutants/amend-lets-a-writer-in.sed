# src/store/memory/verbs.c: a writer is let in between a writer and the reader it becomes
/^static int amend/,/^}/ s/place->ticket.shape.weight = req->shape.weight;/hf_queue_part(place);\
        hf_world_changed(world, queue);\
        place->ticket.shape.weight = req->shape.weight;\
        place->ticket.seq = place->ticket.token = ++world->token;\
        hf_queue_join(queue, place);/
