# src/store/memory/verbs.c: a downgrade grants a writer between the old writer and the reader it becomes
/^static int downgrade/,/^}/ s/place->place.shape.weight = req->shape.weight;/hf_queue_part(place);\
        hf_world_changed(world, queue);\
        place->place.shape.weight = req->shape.weight;\
        place->place.seq = place->place.token = ++world->token;\
        hf_queue_join(queue, place);/
