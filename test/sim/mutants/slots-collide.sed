# src/store/memory/queue.c: two holders get the same slot
s/if (place->place.slot == slot)/if (place->place.slot == slot \&\& slot > 0)/
