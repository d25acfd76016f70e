# src/store/memory/world.c: a waiter that leaves notifies nobody
/^void hf_world_depart/,/^}/ {
    s/hf_queue_part(place);/bool held = place->granted; &/
    s/hf_world_changed(.*);/if (held) &/
}
