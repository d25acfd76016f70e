# src/store/memory/queue.c: a slot is given out twice
s/if (place->ticket.slot == slot)/if (place->ticket.slot == slot \&\& slot > 0)/
