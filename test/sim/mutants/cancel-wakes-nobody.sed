# src/store/memory/serve.c: whoever leaves without having held tells nobody
/^static void depart/,/^}/ {
    s/hf_queue_part(queue, place, world->wall);/bool held = place->granted; &/
    s/hf_world_changed(.*);/if (held) &/
}
