# src/store/memory/amend.c: a writer is let in between a writer and the reader it becomes
/^int hf_world_amend/,/^}/ {
    s/hf_queue_lessen(queue, place, req->shape.weight, world->wall);/uint64_t old = place->ticket.seq;\
        hf_queue_part(queue, place, world->wall);\
        place->ticket.shape.weight = req->shape.weight;\
        place->ticket.seq = ++world->seq;\
        place->ticket.token = ++world->token;\
        hf_queue_join(queue, place, world->wall);/
    s/hf_world_changed(world, queue, place->ticket.seq, session);/hf_world_changed(world, queue, old, session);/
}
