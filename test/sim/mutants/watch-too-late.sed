# src/store/memory/queue.c: a ticket that left before WATCH arrived is waited for
/^bool hf_watch_due/,/^}/ s/if (place == NULL || place->amended_at/if (place != NULL \&\& place->amended_at/
