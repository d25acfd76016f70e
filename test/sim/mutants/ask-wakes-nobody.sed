# src/store/memory/verbs.c: ASK leaves its reason, but does not notify the holder
/^static int ask/,/^}/ s/^    hf_world_tell(.*);/    (void)world;/
