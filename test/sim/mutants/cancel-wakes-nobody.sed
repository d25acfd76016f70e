# src/store/memory/verbs.c: whoever leaves without having held tells nobody
/^static void depart/,/^}/ {
    s/hf_queue_part(place);/bool held = place->granted; &/
    s/hf_world_changed(.*);/if (held) &/
}
