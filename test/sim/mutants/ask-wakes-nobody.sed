# src/store/memory/ask.c: word is left, and nobody told
s/^    hf_world_asked(world, place, session);/    (void)session;/
