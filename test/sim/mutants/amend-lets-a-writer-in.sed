# src/store/memory/amend.c: a writer is let in between a writer and the reader it becomes
/^int hf_world_amend/,/^}/ s/place->ticket.shape.weight = req->shape.weight;/hf_queue_part(queue, place);\
        hf_world_changed(world, queue, session);\
        place->ticket.shape.weight = req->shape.weight;\
        place->ticket.seq = place->ticket.token = ++world->token;\
        hf_queue_join(queue, place);/
