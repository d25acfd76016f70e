# src/store/memory/ask.c: word is left, and nobody told
s/^    hf_world_tell(world, queue, session);/    (void)session;/
